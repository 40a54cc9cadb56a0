"""The text layer: what a model reads never depends on the truth, and whatever it replies is understood or counted."""

import base64
import importlib
import io
import random
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from PIL import Image

from groundling.env_options import EnvOptions
from groundling.errors import InputError
from groundling.teacher.teacher import Teacher
from groundling.text import TextEpisode, describe_view, message_text, parse_answer, parse_move, rules
from groundling.vector_env import NavQAVectorEnv
from groundling.world.catalog import Catalog
from groundling.world.rendering import ansi, view_cells
from groundling.world.scenario import Scenario
from groundling.world.shortest_path import best_actions
from groundling.world.simulation import ACTIONS

MAP = {
    "objects": [{"name": "apple", "color": "red", "at": [0, 1]}, {"name": "owl", "at": [3, 4], "icon": 0}],
    "walls": [[2, 3], [6, 6]],
    "agent": [2, 2],
}


def test_view_is_described_from_the_agent() -> None:
    catalog = Catalog.default()
    cells = view_cells(Scenario.of(MAP, catalog, 7).state())[0]
    owl = catalog.describe(int(cells[7, 8]))
    assert describe_view(cells, catalog) == (
        f"Objects: a red apple 2 steps north, 1 step west; {'an' if owl[0] in 'aeiou' else 'a'} {owl} 1 step south, "
        "2 steps east.\nWalls: 1 step east; 4 steps south, 4 steps east.\n"
        "Cells between you and the edge of the map: 2 north, 4 south, 2 west, 4 east."
    )


def test_empty_map_is_described() -> None:
    catalog = Catalog.default()
    empty = Scenario.of({"objects": [], "walls": [], "agent": [0, 0]}, catalog, 3).state()
    assert describe_view(view_cells(empty)[0], catalog) == (
        "Objects: none.\nWalls: none.\nCells between you and the edge of the map: 0 north, 2 south, 0 west, 2 east."
    )


def play_oracle(game: TextEpisode) -> None:
    while not game.done:
        if game.task == "qa":
            game.reply(game.teacher.lexicon.words[game.episode.question.answer[0]])
        else:
            game.reply(ACTIONS[best_actions(game.episode.state)[0][0]])


@pytest.mark.parametrize("view", ["sentences", "grid", "picture", "both"])
def test_oracle_reaches_every_target_and_answers_every_question(view: str) -> None:
    teacher = Teacher()
    for index in range(20):
        for task in ("nav", "qa"):
            if task == "qa" and teacher.begin(1, [index]).question.type[0] < 0:
                continue
            game = TextEpisode(teacher, 1, index, task, view)
            play_oracle(game)
            assert game.success
            assert game.invalid == 0
            assert game.replies == (len(game.messages) - 1) / 2


def test_reward_is_that_of_the_env() -> None:
    env = gym.make("groundling/Nav-v0")
    rng = random.Random(0)
    for index in range(20):
        env.reset(seed=5, options={"episode": index})
        game, total, ended = TextEpisode(Teacher(), 5, index), 0.0, False
        while not game.done:
            move = rng.randrange(4)
            game.reply(ACTIONS[move])
            _, reward, terminated, truncated, _ = env.step(move)
            total, ended = total + float(reward), terminated or truncated
        assert ended
        assert game.reward == pytest.approx(total)


def test_invalid_replies_are_no_ops_that_end_the_episode() -> None:
    game = TextEpisode(Teacher(), 0, 0)
    agent = int(game.episode.state.agent[0])
    while not game.done:
        game.reply("I do not know.")
    assert game.replies == game.invalid == 28
    assert not game.success
    assert int(game.episode.state.agent[0]) == agent
    assert game.reward == pytest.approx(-2.8)
    with pytest.raises(InputError, match="the episode is over"):
        game.reply("up")


def test_pictures_are_png_and_both_has_text_and_picture() -> None:
    teacher = Teacher()
    parts = TextEpisode(teacher, 0, 0, view="both").messages[0]["content"]
    assert [part["type"] for part in parts] == ["text", "text", "image_url", "text"]
    data = parts[2]["image_url"]["url"].removeprefix("data:image/png;base64,")
    assert Image.open(io.BytesIO(base64.b64decode(data))).size == (448, 448)
    assert "steps" in message_text({"content": parts})
    assert "steps" not in message_text(TextEpisode(teacher, 0, 0, view="picture").messages[0])


MOVES = [
    ("up", 2),
    ("  North!\n", 2),
    ('{"move": "left"}', 0),
    ("The wall is in the north, so I go around it.\nMove: right", 1),
    ("I think about up and down and left.\n\n**right**", 1),
    ("go down, down", 3),
    ("left or right?", None),
    ("up\nup\ndown left", None),
    ("", None),
    ("northeast", None),
    (None, None),
    (b"up", None),
    (7, None),
]


@pytest.mark.parametrize(("text", "move"), MOVES)
def test_moves(text: Any, move: int | None) -> None:
    assert parse_move(text) == move


ANSWERS = [
    ("apple", "", "apple"),
    ("Apple.", "", "apple"),
    ("It is a red object.", "What is the color of the apple?", "red"),
    ("The color of the apple is red.", "What is the color of the apple?", "red"),
    ("the object in the north is the apple", "What is in the north?", "apple"),
    ("orange", "What is the orange object?", "orange"),
    ('{"answer": "Nothing"}', "", "nothing"),
    ("apple or banana", "", None),
    ("Answer: banana, not an apple", "", "banana"),
    ("I cannot help with that.", "", None),
    ("苹果 🍎", "", None),
]


@pytest.mark.parametrize(("text", "question", "word"), ANSWERS)
def test_answers(text: str, question: str, word: str | None) -> None:
    lexicon = Teacher().lexicon
    assert parse_answer(text, lexicon, question) == (None if word is None else lexicon.token[word])


@pytest.mark.parametrize("task", ["nav", "qa"])
def test_a_message_that_depends_on_the_truth_is_noticed(task: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The check of `fuzz/text_leaks.py`, which the fuzzing tests run, can fail."""
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "fuzz"))
    leaks = importlib.import_module("text_leaks")
    played = leaks.Played(("normal", "train", "plain"), False, task, "grid", 0, 5)
    assert leaks.use(played)
    now = TextEpisode._now

    def leaky(game: TextEpisode) -> list[Any]:
        episode = game.episode
        return [*now(game), str(episode.state.target if task == "nav" else episode.question.answer)]

    monkeypatch.setattr(TextEpisode, "_now", leaky)
    with pytest.raises(AssertionError, match="depends on the truth"):
        leaks.use(played)


def test_grid_marks_the_target_only_if_asked_to() -> None:
    teacher = Teacher()
    state = teacher.begin(0, [0], ask=False).state
    moved = state._replace(target=(state.target + 1) % 49)
    assert ansi(state, teacher.catalog) == ansi(moved, teacher.catalog)
    assert ansi(state, teacher.catalog, mark_target=True) != ansi(moved, teacher.catalog, mark_target=True)
    plain, marked = (gym.make("groundling/Nav-v0", render_mode="ansi", mark_target=mark) for mark in (False, True))
    texts = []
    for env in (plain, marked):
        env.reset(seed=0)
        texts.append(str(env.render()))
    assert texts[0] != texts[1]
    assert texts[0].lower().replace("x", ".") == texts[1].lower().replace("x", ".")


def test_text_observation_of_the_envs() -> None:
    env = gym.make("groundling/NavQA-v0", observation="text")
    observation, info = env.reset(seed=1)
    assert env.observation_space.contains(observation)
    assert observation["command"] == info["command"]
    assert observation["question"] == info["question"]
    assert observation["text"] in TextEpisode(Teacher(), 1, 0).text
    batch = NavQAVectorEnv(3, observation="text", autoreset_mode=gym.vector.AutoresetMode.SAME_STEP, max_steps=1)
    batch.reset(seed=1)
    observations, _, _, _, info = batch.step(np.zeros((3, 2), np.int64))
    assert batch.observation_space.contains(observations)
    assert env.observation_space.contains(info["final_obs"][0])


def test_rules_name_size_moves_and_nothing() -> None:
    teacher = EnvOptions(size=5, walls=(0, 3)).teacher()
    assert "5 x 5 cells" in rules(teacher, "nav")
    assert "at most 20 moves" in rules(teacher, "nav")
    assert '"nothing"' in rules(teacher, "qa")
    with pytest.raises(InputError, match="view must be one of sentences, grid, picture, both, got 'smell'"):
        TextEpisode(teacher, 0, 0, view="smell")
