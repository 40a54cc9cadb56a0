"""Example sentences for a scene: one of each sentence type, with words that training held out where possible."""

import zlib
from typing import Any

import numpy as np

from groundling.page.client_agent import ClientAgent
from groundling.page.scene import Scene
from groundling.teacher.valid_sentences import ValidSentence, valid_sentences, verbalize


def example_sentences(agent: ClientAgent, scene: Scene) -> list[dict[str, Any]]:
    """One sentence of each type that is valid in the scene, drawn with a seed of its own for each scenario.

    Sentences with held-out words are preferred, so there is one whenever the scene allows it.
    """
    rng = np.random.default_rng(zlib.crc32(repr(scene.scenario).encode()))
    held_out = agent.served.held_out_words
    valid = [s for s in valid_sentences(scene.teacher, scene.scenario.state()) if agent.knows(s, scene)]
    found = []
    for type_ in scene.teacher.language.types:
        of_type = [sentence for sentence in valid if sentence.type == type_.name and not sentence.is_empty]
        best = [sentence for sentence in of_type if held_out & {*sentence.slots.values()}] or of_type
        if best:
            found.append(_example(best[int(rng.integers(len(best)))], type_.is_command, agent, scene, rng))
    return found


def _example(
    sentence: ValidSentence, is_command: bool, agent: ClientAgent, scene: Scene, rng: np.random.Generator
) -> dict[str, Any]:
    words = [word for word in sentence.slots.values() if word in agent.served.held_out_words]
    return {
        "sentence": verbalize(scene.teacher, sentence, rng),
        "type": sentence.type,
        "kind": "command" if is_command else "question",
        "held_out": words,
    }
