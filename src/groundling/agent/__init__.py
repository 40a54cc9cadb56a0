"""The agent of the paper and the five that it is compared with.

*Read the sentence into a small program; run the program on the picture.* Nothing here knows the world or the teacher:
a model sees pixels and word numbers only.
"""

from groundling.agent.config import AgentConfig
from groundling.agent.model import Model, Output
from groundling.agent.registry import MODELS, build
from groundling.agent.view import View

__all__ = ["MODELS", "AgentConfig", "Model", "Output", "View", "build"]
