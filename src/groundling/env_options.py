"""The options of the Gymnasium environments, and the teacher that they describe."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from groundling.errors import InputError, check_choice, check_int, nearest
from groundling.teacher.invented_words import with_lexicon
from groundling.teacher.language import Language
from groundling.teacher.make_teacher import make_teacher
from groundling.teacher.splits import Split, check_holdout
from groundling.teacher.teacher import Teacher
from groundling.teacher.types import SamplingConfig
from groundling.world.catalog import Catalog
from groundling.world.types import Rewards, WorldConfig

OBSERVATIONS = ("pixels", "cells", "text")


@dataclass(frozen=True)
class EnvOptions:
    """The keyword arguments of `gymnasium.make`."""

    size: int = WorldConfig.size
    """Side of the square map, in cells (3 to 64)."""
    objects: tuple[int, int] = WorldConfig.objects
    """Minimum and maximum number of objects on a map."""
    walls: tuple[int, int] = WorldConfig.walls
    """Minimum and maximum number of wall cells."""
    max_steps: int | None = None
    """Steps after which an episode is truncated (default: 4 x size)."""
    curriculum_episodes: int = 0
    """Number of episodes over which the difficulty grows to its maximum; 0: full difficulty from the start."""
    type_balanced_fraction: float = 0.0
    """Fraction of the episodes for which a sentence type is sampled first, then a map that triggers it."""
    types: tuple[str, ...] | None = None
    """Sentence types sampled first for that fraction; None: all that the split allows."""
    language: str | Path | Language = "paper"
    """`paper`, a language file, or a Language."""
    lexicon: str = "plain"
    """`plain`: the words of the language; `invented`: invented words for objects, attributes, directions and relations;
    `all-invented`: for all words."""
    lexicon_seed: int = 0
    """Seed of the invented words."""
    maps: str | Callable[..., None] = "open"
    """Map generator: `open` (the paper's), `rooms`, `maze`, `module:function`, or a compiled function."""
    rewards: Rewards | Mapping[str, float] = Rewards()  # noqa: RUF009 - frozen
    """The rewards of a step, or those that differ from the paper's, such as `{"step": -0.05}`."""
    split: str | Path | Split = "normal"
    """`normal`, `zs1`, `zs2`, `novel`, `category`, `paraphrase`, `length`, `icon`, `module:Class`, a split file, or a
    Split."""
    holdout: float = 50.0
    """X, the percentage held out; used if the split is given by its name."""
    split_seed: int = 0
    """Seed that samples what is held out; used if the split is given by its name."""
    phase: str = "train"
    """`train`: sentences without anything held out; `test`: only sentences that contain something held out."""
    icons: str | Path | Catalog | None = None
    """A folder of icons that replaces the built-in ones, `+FOLDER` to add to them, or `procedural:CLASSES`."""
    observation: str = "pixels"
    """What the agent sees: `pixels` (key `image`), `cells` (the id of each cell) or `text` (sentences; then command and
    question are text, too)."""
    texts: bool = True
    """Whether `info` holds the sentences as text."""
    mark_target: bool = False
    """Whether `ansi` rendering marks the target, for people who watch."""
    copy: bool = True
    """Whether images and cells stay as they are after the next step (memory is reused when nothing refers to it any
    more); False: the next step overwrites them."""

    def __post_init__(self) -> None:
        check_choice("observation", self.observation, OBSERVATIONS)
        check_holdout(self.holdout)
        check_int("split_seed", self.split_seed, 0)
        if not isinstance(self.icons, str | Path | Catalog | None):
            raise InputError(f"icons must be the path of a folder, a Catalog or None, got {self.icons!r}")
        if not isinstance(self.language, str | Path | Language):
            raise InputError(f"language must be the path of a file or a Language, got {self.language!r}")
        for name in ("texts", "mark_target", "copy"):
            if not isinstance(getattr(self, name), bool):
                raise InputError(f"{name} must be True or False, got {getattr(self, name)!r}")

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> "EnvOptions":
        """The options of keyword arguments; an unknown one is an error."""
        known = [field.name for field in fields(cls)]
        for name in options:
            if name not in known:
                raise InputError(f"unknown option {name!r}{nearest(name, known)}; the options are {', '.join(known)}")
        return cls(**options)

    def teacher(self) -> Teacher:
        """The teacher with these settings."""
        language = self.language if isinstance(self.language, Language) else Language.load(self.language)
        catalog = self.icons if isinstance(self.icons, Catalog) else Catalog.load(self.icons)
        language = with_lexicon(language, self.lexicon, self.lexicon_seed, catalog.classes)
        maps: Any = self.maps
        world = WorldConfig(self.size, self.objects, self.walls, self.max_steps, maps, _rewards(self.rewards))
        sampling = SamplingConfig(self.curriculum_episodes, self.type_balanced_fraction, self.types)
        return make_teacher(
            world,
            self.split,
            self.holdout,
            self.split_seed,
            self.phase,
            catalog,
            sampling,
            language=language,
        )


def _rewards(rewards: Any) -> Rewards:
    """The rewards of an option."""
    if isinstance(rewards, Rewards):
        return rewards
    names = [field.name for field in fields(Rewards)]
    if not isinstance(rewards, Mapping) or not rewards.keys() <= set(names):
        raise InputError(
            f"rewards must be Rewards or a mapping with keys among {', '.join(names)}, got {rewards!r:.80}"
        )
    return Rewards(**rewards)
