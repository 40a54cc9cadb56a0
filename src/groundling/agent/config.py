"""The hyperparameters of a model, as data that a checkpoint can carry."""

from dataclasses import asdict, dataclass, fields
from typing import Any, Self

from groundling.errors import InputError, check_choice, check_float, check_int, nearest

PLANNERS = ("mlp", "value_iteration")
INITS = ("paper", "he")
WORD_DETECTIONS = ("mixture", "per_word")


@dataclass(frozen=True)
class AgentConfig:
    """Hyperparameters of a model. The defaults are the paper's."""

    method: str = "ours"
    """Name of the model: ours, ca, san, vl, ce or nava."""
    pixel_offset: float = 0.0
    """Pixel value that is mapped to 0; the light floor's value (about 240) makes objects stand out from the start."""
    pixel_scale: float = 255.0
    """Divisor of pixel values, after the offset."""
    channels: int = 256
    """Channels of the CNN's output, and of the parametric cube; D is the sum of the two."""
    hidden_units: int = 128
    """Units of the interpreter's GRUs."""
    interpreter_steps: int = 3
    """I: number of word-attention steps of the interpreter."""
    planner: str = "mlp"
    """`mlp`: the paper's M_A; `value_iteration`: sweeps of value iteration on the same two maps."""
    planner_sweeps: int = 16
    """K: number of sweeps of `value_iteration`."""
    temperature: float | None = None
    """Initial inverse temperature of the word attention, learned; None: the paper's plain softmax of cosines."""
    word_detection: str = "mixture"
    """`mixture`: detect the attended mixture of word embeddings, as in the paper (of two objects, the one with the
    larger score takes all attention); `per_word`: detect each word by itself and mix the resulting maps."""
    sharpness: float | None = None
    """Initial exponent applied to a sentence's final attention map, learned; None: no exponent, as in the paper."""
    gate_bound: float | None = None
    """Bound on the logits of the interpreter's gates, see `Gate`; None: unbounded, as in the paper."""
    init: str = "paper"
    """Standard deviation of initial weights. `paper`: 1 / sqrt(parameters of the layer); `he`: sqrt(2 / inputs)."""

    def __post_init__(self) -> None:
        for name, choices in (("planner", PLANNERS), ("word_detection", WORD_DETECTIONS), ("init", INITS)):
            check_choice(f"agent.{name}", getattr(self, name), choices)
        for name in ("channels", "hidden_units", "interpreter_steps", "planner_sweeps"):
            check_int(f"agent.{name}", getattr(self, name), 1)
        check_float("agent.pixel_scale", self.pixel_scale, 0, above=True)

    @property
    def depth(self) -> int:
        """D: channels of the feature cube, and length of a word embedding."""
        return 2 * self.channels

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def of(cls, record: dict[str, Any]) -> Self:
        """The config of plain data; an unknown key is an error."""
        known = [field.name for field in fields(cls)]
        for name in record:
            if name not in known:
                raise InputError(f"agent config has no field {name!r}{nearest(name, known)}")
        return cls(**record)
