"""The paper's model and the five methods it is compared with.

*Read the sentence into a small program; execute the program on the image.* Nothing here imports the world or the
teacher: a model receives only pixels and tokens, so no ground truth can leak into it.
"""

from groundling.agent.config import AgentConfig, ModelConfig
from groundling.agent.language import WordDropout
from groundling.agent.model import Model
from groundling.agent.perception import scale_pixels
from groundling.agent.registry import MODELS, build, find_model
from groundling.agent.types import Answer, EnvSpec, Output
from groundling.agent.view import CELL_PIXELS, View

__all__ = [
    "CELL_PIXELS",
    "MODELS",
    "AgentConfig",
    "Answer",
    "EnvSpec",
    "Model",
    "ModelConfig",
    "Output",
    "View",
    "WordDropout",
    "build",
    "find_model",
    "scale_pixels",
]
