"""Garbled replies of a language model to a text episode: each is understood or counted as invalid, never an exception.

    python fuzz/replies.py --count 10000 --seed 0

Replies are empty, huge, random Unicode, JSON, several moves, refusals, of another type than text, or words in any
order. An invalid reply changes nothing but the number of replies, and every chat can be sent to a server as JSON.
"""

import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

from common import JSON_VALUES, Rng, arguments, run

from groundling.suites.players import oracle
from groundling.teacher.teacher import Teacher
from groundling.text import MAX_REPLY, TASKS, TextEpisode

WORDS = (
    *("up", "down", "left", "right", "north", "southwest", "apple", "red", "orange", "nothing", "UP", "Apple."),
    *("Move:", "answer =", "**", "{", "}", '"', "\n", "\t", "é", "🍎", "\x00", "\u202e", "\ud800", "苹果", "4", "-"),
)
REFUSALS = (
    "I'm sorry, but I cannot help with that.",
    "As a language model, I do not see a map.",
    "Could you tell me more about the map? I see none.",
    "<think>I would go up, or left, or",
    "[tool_calls] []",
)
NOT_TEXT: tuple[Any, ...] = (
    None,
    3.5,
    float("nan"),
    True,
    [],
    ["up"],
    {"move": "up"},
    {"content": None},
    b"\xff",
    b"up",
    object(),
)


class Garbled(NamedTuple):
    """A reply, and the episode in which it is given."""

    task: str
    episode: int
    kind: str
    reply: Any


def make(rng: Rng, _: Path) -> tuple[str, Garbled]:
    """A reply of a random kind."""

    def words(most: int) -> list[str]:
        return [WORDS[k] for k in rng.integers(len(WORDS), size=rng.integers(most))]

    kind = str(rng.choice(["empty", "huge", "Unicode", "JSON", "several", "refusal", "not text", "words", "words"]))
    word = WORDS[rng.integers(len(WORDS))]
    reply: Any
    if kind == "empty":
        reply = ("", " ", "\n\n", "\x00", "\ufeff")[rng.integers(5)]
    elif kind == "huge":
        reply = " ".join(words(50)) * int(rng.integers(1, 10 * MAX_REPLY // 100)) + word
    elif kind == "Unicode":
        reply = "".join(map(chr, rng.integers(0x11_0000, size=rng.integers(200)).tolist()))
    elif kind == "JSON":
        value = JSON_VALUES[rng.integers(len(JSON_VALUES))] if rng.integers(2) else json.dumps(word)
        reply = f'{{"{("move", "answer", "thought")[rng.integers(3)]}": {value}}}'[: int(rng.integers(1, 1 << 17))]
    elif kind == "several":
        reply = ("; ", "\n", " or ", "")[rng.integers(4)].join(words(6))
    elif kind == "refusal":
        reply = REFUSALS[rng.integers(len(REFUSALS))]
    elif kind == "not text":
        reply = NOT_TEXT[rng.integers(len(NOT_TEXT))]
    else:
        reply = (" ", "", ", ")[rng.integers(3)].join(words(40))
    return kind, Garbled(TASKS[rng.integers(2)], int(rng.integers(1000)), kind, reply)


class Player:
    """Gives replies to episodes of one teacher."""

    def __init__(self) -> None:
        self.teacher = Teacher()

    def __call__(self, made: Garbled) -> str:
        index = made.episode
        while made.task == "qa" and self.teacher.begin(0, [index]).question.type[0] < 0:
            index += 1
        game = TextEpisode(self.teacher, 0, index, made.task)
        truth, agent = oracle(game), int(game.episode.state.agent[0])
        game.reply(made.reply)
        assert game.replies == 1
        assert game.invalid in (0, 1)
        if game.invalid:
            assert int(game.episode.state.agent[0]) == agent
            assert not game.success
        json.dumps(game.messages).encode()
        if not game.done:  # the episode goes on as if nothing had happened
            game.reply(truth)
            assert game.invalid < 2
        return f"{made.kind}, {'invalid' if game.invalid else 'understood'}"


def main() -> int:
    options = arguments("Fuzz the replies of language models.", 10_000).parse_args()
    report = run("replies", options, make, Player())
    code = report.show()
    counts = Counter(result.text for result in report.results if result.outcome == "accepted")
    for text, count in sorted(counts.items()):
        print(f"{count:6}  {text}")
    return code


if __name__ == "__main__":
    sys.exit(main())
