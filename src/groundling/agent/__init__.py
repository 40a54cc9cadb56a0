"""The paper's model and the five methods it is compared with.

*Read the sentence into a small program; execute the program on the image.* Nothing here imports the world or the
teacher: a model receives only pixels and tokens, so no ground truth can leak into it.
"""

from groundling.agent.config import AgentConfig
from groundling.agent.model import Model
from groundling.agent.registry import MODELS, build
from groundling.agent.types import EnvSpec, Output
from groundling.agent.view import View

__all__ = ["MODELS", "AgentConfig", "EnvSpec", "Model", "Output", "View", "build"]
