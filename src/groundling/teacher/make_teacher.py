"""From settings to a split and a teacher."""

from pathlib import Path

from groundling.errors import InputError, nearest
from groundling.imports import names_code
from groundling.teacher.grammar import Grammar
from groundling.teacher.language import Language
from groundling.teacher.splits import JOINT, KINDS, Split
from groundling.teacher.teacher import Teacher
from groundling.teacher.types import SamplingConfig
from groundling.world.catalog import Catalog
from groundling.world.types import WorldConfig


def make_split(split: str | Path | Split, holdout: float, seed: int, grammar: Grammar, tested: str = "zs2") -> Split:
    """A split from its name, `module:Class`, a split file or a Split. Of `zs1+zs2`, `tested` is what is tested."""
    if isinstance(split, Split):
        return split
    if str(split) == JOINT:
        pairs, words = (Split.draw(kind, holdout, seed, grammar) for kind in ("zs1", "zs2"))
        return pairs.joined(words) if tested == "zs1" else words.joined(pairs)
    if str(split) in KINDS or (isinstance(split, str) and names_code(split)):
        return Split.draw(str(split), holdout, seed, grammar)
    if isinstance(split, str | Path) and Path(split).is_file():
        return Split.load(split)
    known = (*KINDS, JOINT)
    raise InputError(
        f"split must be one of {', '.join(known)}, module:Class or a split file, got {str(split)!r:.80}"
        f"{nearest(str(split)[:40], known)}"
    )


def make_teacher(
    world: WorldConfig,
    split: str | Path | Split,
    holdout: float = 50.0,
    split_seed: int = 0,
    phase: str = "train",
    catalog: Catalog | None = None,
    sampling: SamplingConfig | None = None,
    tested: str = "zs2",
    language: Language | None = None,
) -> Teacher:
    """The one way from settings to a teacher, for environments, training and evaluation alike."""
    catalog, language = catalog or Catalog.default(), language or Language.paper()
    drawn = make_split(split, holdout, split_seed, Grammar(language, catalog), tested)
    return Teacher(world, drawn, phase, catalog, sampling, language)
