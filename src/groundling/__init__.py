"""Groundling: a 2D world in which an agent learns a language from scratch by interaction.

Importing the package registers the Gymnasium environments `groundling/Nav-v0` and `groundling/NavQA-v0`.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import gymnasium

from groundling.extras import needs

if TYPE_CHECKING:
    from groundling.learn.trained_agent import TrainedAgent

__version__ = "0.2.0"
__all__ = ["load", "teach"]

for _name in ("Nav", "NavQA"):
    gymnasium.register(
        id=f"groundling/{_name}-v0",
        entry_point=f"groundling.env:{_name}Env",
        vector_entry_point=f"groundling.vector_env:{_name}VectorEnv",
    )


def load(name: str | Path, device: str = "cpu", allow_import: bool = False) -> "TrainedAgent":
    """A trained agent from a checkpoint file, the folder of a run, or the name of pretrained weights.

    `allow_import`: if its model is in a module that is not imported yet, import it, which runs its code.
    """
    needs("agent")
    from groundling.learn.trained_agent import load_agent

    return load_agent(name, device, allow_import)


def teach(agent: "TrainedAgent", word: str, examples: Sequence[tuple[Any, str, str]]) -> "TrainedAgent":
    """A new agent that knows `word`, learned from examples (image, question, answer); the same as `agent.teach`."""
    return agent.teach(word, examples)
