"""Pictures of the documentation, drawn from the real teacher, renderer and pretrained agents.

python -m website.pictures docs/episode.gif    # the episode on the front page
"""

import sys
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from PIL import Image

import groundling
from groundling.env_options import EnvOptions
from groundling.page.app_state import AppState, ServedAgent
from groundling.page.client_agent import ClientAgent
from groundling.page.examples import example_sentences
from groundling.page.export import sentence_text, to_gif, to_html
from groundling.page.limits import Limits
from groundling.page.walk import Runner, record_walk, walk_path
from groundling.study import pictures
from groundling.teacher.teacher import Teacher
from groundling.world.catalog import DISPLAY_PIXELS
from groundling.world.rendering import draw, map_cells

FRONT_AGENT, FRONT_SEED = "zs2-90", 4
"""The episode on the front page; its agent heard most nouns only as answers."""
WALK_AGENT, WALK_SEED, WALKS = "zs2-90", 100, 6
"""The gallery of the site."""


class Example(NamedTuple):
    """A drawn sentence."""

    sentence: str
    answer: str
    """Empty for a command."""
    picture: Image.Image


@cache
def _teacher(type_: str) -> Teacher:
    return EnvOptions(types=(type_,), type_balanced_fraction=1.0, objects=(3, 5), walls=(2, 8)).teacher()


def example(type_: str) -> Example:
    """A sentence of a type in a world of its own; the cell that it refers to is blue."""
    teacher = _teacher(type_)
    episode = teacher.begin(teacher.language.type_names.index(type_), [0])
    is_command = teacher.language.type(type_).is_command
    sentences = episode.command if is_command else episode.question
    size = episode.state.size
    heat = np.zeros(size * size, np.float32)
    heat[int(teacher.referred_positions(episode, sentences)[0])] = 1
    pixels = draw(map_cells(episode.state), teacher.catalog.pictures[DISPLAY_PIXELS])[0]
    image = Image.fromarray(pictures.overlay_attention(pixels, heat.reshape(size, size)))
    answer = "" if is_command else teacher.lexicon.words[int(sentences.answer[0])]
    return Example(teacher.text(sentences, 0), answer, image.reduce(2))


class Walk(NamedTuple):
    """A walk of the gallery: an animation, and a page that shows every step."""

    sentence: str
    verdict: str
    gif: bytes
    html: str


def walks() -> list[Walk]:
    """Commands in random worlds, each of another type, preferably with words that occurred in no training command."""
    state = AppState([ServedAgent(WALK_AGENT, groundling.load(WALK_AGENT))], Limits())
    runner = Runner(ClientAgent.of(state.agents[0]), state.inference, state.limits)
    found = []
    for k in range(WALKS):
        scene, _, _ = state.sample_world(WALK_SEED + k)
        examples = example_sentences(runner.agent, scene)
        commands = [entry for entry in examples if entry["kind"] == "command"]
        chosen = commands[k % len(commands)]
        path, reached = walk_path(runner, scene, chosen["sentence"])
        verdict = f"Success: target reached in {len(path) - 1} steps." if reached else "Failure: not reached."
        if chosen["held_out"]:
            verdict += f" No command or question of its training contained “{chosen['held_out'][0]}”."
        recording = record_walk(runner, scene, chosen["sentence"], path, verdict)
        found.append(Walk(sentence_text(recording), verdict, to_gif(recording, lambda: None), to_html(recording)))
    return found


def front_page(out: Path) -> None:
    """An episode of a pretrained agent with commands, questions and answers, as an animation."""
    agent = groundling.load(FRONT_AGENT)
    teacher = agent.teacher()
    frames = pictures.walk(agent, teacher, teacher.begin(FRONT_SEED, [0]))
    width, height = (3 * side // 4 for side in frames[0].size)
    with out.open("wb") as file:
        pictures.save_gif([frame.resize((width, height)) for frame in frames], file)


if __name__ == "__main__":
    front_page(Path(sys.argv[1]))
