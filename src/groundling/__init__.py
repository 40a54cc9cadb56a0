"""A 2D world in which an agent learns a language from scratch by living in it.

Importing the package registers its Gymnasium environments; they load when they are made.
"""

from typing import Any

import gymnasium

__version__ = "0.1.0"

for _name in ("Nav", "NavQA"):
    gymnasium.register(
        id=f"groundling/{_name}-v0",
        entry_point=f"groundling.env:{_name}Env",
        vector_entry_point=f"groundling.env:{_name}VectorEnv",
    )


def __getattr__(name: str) -> Any:
    """`groundling.teach` and `groundling.load`, which need torch, come with their first use."""
    if name == "teach":
        from groundling.learn.few_shot import teach

        return teach
    if name == "load":
        from groundling.learn.trained_agent import load_agent

        return load_agent
    raise AttributeError(f"module 'groundling' has no attribute {name!r}")
