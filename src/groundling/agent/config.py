"""Everything that determines a model's shape, as data that a checkpoint can carry."""

from dataclasses import asdict, dataclass, fields
from typing import Any, Self

import torch
from torch import Tensor

from groundling.errors import InputError, nearest

PLANNERS = ("mlp", "value_iteration")
INITS = ("paper", "he")
DETECTS = ("mixture", "words")


@dataclass(frozen=True)
class AgentConfig:
    """A model's shape. The defaults are the paper's."""

    method: str = "ours"
    """Which model: a key of the registry."""
    words: int = 185
    """Size of the lexicon; a token of this number is padding."""
    actions: int = 4
    view: int = 13
    """Side of the view, in cells; the agent is in the center."""
    cell: int = 12
    """Side of a cell, in pixels."""
    pixel_zero: float = 0.0
    """The pixel value that counts as nothing; a light floor's own, such as 240, lets objects stand out at once."""
    pixel_unit: float = 255.0
    """How much brighter a pixel must be to count as one."""
    channels: int = 256
    """Channels of the CNN's output, and as many of the parametric cube; D is the two together."""
    units: int = 128
    """Units of the gated RNNs of the interpreter."""
    steps: int = 3
    """I: how often the interpreter attends to a word."""
    planner: str = "mlp"
    """`mlp`: the paper's M_A; `value_iteration`: a few sweeps of planning on the same two maps."""
    sweeps: int = 16
    """K: how many sweeps `value_iteration` makes."""
    temperature: float | None = None
    """Scales the cosines of the word attention; learned from this start. None: the paper's plain softmax."""
    detect: str = "mixture"
    """What detects where a step looks. `mixture`: the sum of the attended words, as in the paper; of two objects, the
    one with the larger score takes all. `words`: each word for itself, and attention mixes their maps."""
    sharpness: float | None = None
    """Exponent of the map that a sentence ends with; learned from this start. None: the paper's map, as it comes."""
    gate: float | None = None
    """Bounds the gates of the interpreter, see `Gate`. None: the paper's, without bound."""
    init: str = "paper"
    """`paper`: normal with deviation 1 / sqrt(parameters of the layer); `he`: deviation sqrt(2 / inputs)."""

    def __post_init__(self) -> None:
        for name, choices in (("planner", PLANNERS), ("detect", DETECTS), ("init", INITS)):
            if getattr(self, name) not in choices:
                raise InputError(f"{name} {getattr(self, name)!r}: it is one of {', '.join(choices)}")
        for name in ("words", "actions", "channels", "units", "steps", "sweeps"):
            if getattr(self, name) < 1:
                raise InputError(f"{name} {getattr(self, name)}: it is 1 or more")
        if self.view < 3 or self.view % 2 == 0:
            raise InputError(f"view {self.view}: it is odd, so that the agent has a center, and 3 or more")
        if not self.pixel_unit > 0:
            raise InputError(f"pixel_unit {self.pixel_unit}: it is above 0")
        if self.cell != 12:
            raise InputError(f"cell {self.cell}: the CNN's strides of 3, 2 and 2 make one place of 12 pixels")

    def scaled(self, pixels: Tensor) -> Tensor:
        """Pixels 0 .. 255 as numbers for a CNN."""
        return (pixels.to(torch.get_default_dtype()) - self.pixel_zero) / self.pixel_unit

    @property
    def positions(self) -> int:
        """N: how many locations the feature cube has."""
        return self.view**2

    @property
    def depth(self) -> int:
        """D: channels of the feature cube, and length of a word's embedding."""
        return 2 * self.channels

    @property
    def pad(self) -> int:
        return self.words

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def of(cls, record: dict[str, Any]) -> Self:
        """From plain data; an unknown key is an error."""
        known = [field.name for field in fields(cls)]
        for name in record:
            if name not in known:
                raise InputError(f"unknown field {name!r} of an agent's config{nearest(name, known)}")
        return cls(**record)
