"""The hyperparameters of a model, as data that a checkpoint can carry."""

from dataclasses import asdict, dataclass, fields
from typing import Annotated, Any, Self

import tyro

from groundling.errors import InputError, check_choice, check_float, check_int
from groundling.read_json import from_plain

PLANNERS = ("mlp", "value_iteration")
INITS = ("paper", "he", "inputs")
WORD_DETECTIONS = ("mixture", "per_word")
MAX_INTERPRETER_STEPS = 64
MAX_PLANNER_SWEEPS = 10_000
"""Bounds on loops whose length no tensor of a checkpoint shows."""


@dataclass(frozen=True)
class ModelConfig:
    """What the configs of all models have; a model of your own may extend it with its hyperparameters.

    A checkpoint stores the fields as JSON: numbers, strings, bools, Literal, None, and tuples or dataclasses of them.
    """

    method: Annotated[str, tyro.conf.arg(aliases=("--method",))] = "ours"
    """Model: ours, ca, san, vl, ce or nava (described by `groundling models`), or module:Class of your own."""
    # With the value of the light floor, about 240, objects stand out before any training.
    pixel_offset: float = 0.0
    """Value subtracted from all pixel values, which are 0 to 255."""
    pixel_scale: float = 255.0
    """Divisor of pixel values, after pixel_offset is subtracted."""

    def __post_init__(self) -> None:
        check_float("agent.pixel_offset", self.pixel_offset, float("-inf"))
        check_float("agent.pixel_scale", self.pixel_scale, 0, above=True)

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def of(cls, record: Any) -> Self:
        """The config of plain data; unknown fields and wrong types are errors."""
        return from_plain(cls, record, "agent config")

    @classmethod
    def like(cls, other: "ModelConfig", method: str) -> Self:
        """The config of a method with the values of another config in all fields that both inherit."""
        shared = {field.name: getattr(other, field.name) for field in fields(cls) if field in fields(other)}
        return cls(**{**shared, "method": method})


@dataclass(frozen=True)
class AgentConfig(ModelConfig):
    """Hyperparameters of the built-in models. The defaults are the paper's."""

    channels: int = 256
    """Channels of the CNN output, and also of the parametric cube; D is their sum."""
    hidden_units: int = 128
    """Hidden units of the interpreter's GRUs."""
    interpreter_steps: int = 3
    """I: number of word-attention steps of the interpreter."""
    planner: str = "mlp"
    """Planner: `mlp` (the paper's M_A) or `value_iteration`, both on attention and terrain maps."""
    planner_sweeps: int = 16
    """K: number of sweeps of the planner `value_iteration`."""
    # Unconstrained kernels can sum to more than 1: values then no longer decay with distance and show no way.
    planner_discount: float | None = None
    """Discount of the planner `value_iteration`, whose kernels are then normalized (None: unconstrained kernels)."""
    # With a terrain that is trained to be a probability, x_terr ** 10 makes walls of 0.96 pass a third of the value.
    obstacle_contrast: float | None = None
    """Exponent of the odds of an obstacle in the planner `value_iteration` (None: obstacles are x_terr ** 10)."""
    # The policy gradient marks floor as a half obstacle, because steeper values give larger differences of actions.
    supervised_terrain: bool = False
    """Whether terrain learns only which moves met obstacles (`ppo.terrain_coef`), without gradients of the planner."""
    temperature: float | None = None
    """Initial, learned inverse temperature of the word attention (None: fixed to 1, as in the paper)."""
    # A mixture of two objects detects only one: that with the larger score takes all attention.
    word_detection: str = "mixture"
    """`mixture`: detect the attended mean of word embeddings (paper); `per_word`: detect each word, mix maps."""
    # Without a bound, the object with the largest score takes all attention of a word that several objects match.
    detection_bound: float | None = None
    """c: score above which a tenth of a word's detection scores counts (None: all of it, as in the paper)."""
    sharpness: float | None = None
    """Initial, learned exponent of a sentence's final attention map (None: no exponent, as in the paper)."""
    gate_bound: float | None = None
    """Bound on the logits of the interpreter's gates (None: unbounded, as in the paper)."""
    # Otherwise some seeds locate an object by convolving its map with itself, and never learn `north of the fox`.
    coverage: bool = False
    """Whether words that have changed the map in a step with an open gate get less attention in later steps."""
    # A word that was an answer names something that can be seen, also when a sentence contains it for the first time.
    salience: float | None = None
    """Initial, learned bias of the word attention to words that were answers (None: no bias, as in the paper)."""
    init: str = "paper"
    """Std of initial weights: 1 / sqrt(parameters of the layer) (`paper`), 1 / sqrt(inputs) (`inputs`) or sqrt(2 /
    inputs) with smaller visual features (`he`)."""

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, choices in (("planner", PLANNERS), ("word_detection", WORD_DETECTIONS), ("init", INITS)):
            check_choice(f"agent.{name}", getattr(self, name), choices)
        for name in ("channels", "hidden_units"):
            check_int(f"agent.{name}", getattr(self, name), 1)
        check_int("agent.interpreter_steps", self.interpreter_steps, 1, MAX_INTERPRETER_STEPS)
        check_int("agent.planner_sweeps", self.planner_sweeps, 1, MAX_PLANNER_SWEEPS)
        for name in ("obstacle_contrast", "temperature", "sharpness", "gate_bound", "detection_bound", "salience"):
            if getattr(self, name) is not None:
                check_float(f"agent.{name}", getattr(self, name), 0, above=True)
        if self.planner_discount is not None:
            check_float("agent.planner_discount", self.planner_discount, 0, 1, above=True)
            if self.planner_discount == 1:
                raise InputError("agent.planner_discount must be below 1, got 1")

    @property
    def depth(self) -> int:
        """D: channels of the feature cube, and length of a word embedding."""
        return 2 * self.channels
