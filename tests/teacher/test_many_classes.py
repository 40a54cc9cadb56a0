"""Splits of catalogs with many classes: nothing grows with the square of their number, and the rule is the same."""

from pathlib import Path

import numpy as np
import pytest

from groundling.env_options import EnvOptions
from groundling.teacher.allowed_table import allowed_table
from groundling.teacher.grammar import Grammar
from groundling.teacher.language import Language
from groundling.teacher.make_teacher import make_split
from groundling.teacher.splits import GROUPS, MAX_LISTED_CLASSES, Split
from groundling.teacher.teacher import Teacher
from groundling.teacher.types import SamplingConfig
from groundling.world.procedural_icons import procedural_catalog

PAPER = Language.paper()
CATALOG = procedural_catalog(MAX_LISTED_CLASSES + 100)
GRAMMAR = Grammar(PAPER, CATALOG)


@pytest.mark.parametrize("kind", ["zs1", "zs2", "novel", "category", "zs1+zs2"])
def test_table_follows_the_predicate(kind: str) -> None:
    rng = np.random.default_rng(0)
    for phase in ("train", "test"):
        split = make_split(kind, 50, 0, GRAMMAR, "zs1")
        table = allowed_table(split, phase, GRAMMAR)
        assert table is not None
        words = {**PAPER.word_classes, "object": GRAMMAR.lexicon.class_words(CATALOG.classes)}
        for t, type_ in enumerate(PAPER.types):
            for _ in range(200):
                filling = [int(rng.integers(len(words[class_]))) for class_ in PAPER.slots.values()]
                slots = {s: words[c][k] for (s, c), k in zip(PAPER.slots.items(), filling, strict=True)}
                meaning = GRAMMAR.meaning(type_.name, 0, {slot: slots[slot] for slot in type_.reference.slots})
                assert table.allowed[table.row(t, filling), 0] == split.allows(meaning, phase)


def test_zs1_holds_out_half_of_all_pairs_of_objects_by_groups(tmp_path: Path) -> None:
    split = Split.draw("zs1", 50, 7, GRAMMAR)
    assert len(split.groups) == GROUPS
    assert sorted(word for group in split.groups for word in group) == sorted(CATALOG.classes)
    rng = np.random.default_rng(1)
    pairs = [rng.choice(CATALOG.classes, 2, replace=False).tolist() for _ in range(5000)]
    held = [split.holds_out_pair(a, b) for a, b in pairs]
    assert held == [split.holds_out_pair(b, a) for a, b in pairs]
    assert abs(np.mean(held) - 0.5) < 0.06
    for name in CATALOG.classes[:20]:  # each word occurs in pairs of both phases
        assert {split.holds_out_pair(name, other) for other in CATALOG.classes} == {True, False}
    assert split == Split.draw("zs1", 50, 7, GRAMMAR) != Split.draw("zs1", 50, 8, GRAMMAR)
    split.save(tmp_path / "split.json")
    assert Split.load(tmp_path / "split.json") == split


@pytest.mark.parametrize("phase", ["train", "test"])
def test_kernels_obey_the_split(phase: str) -> None:
    split = make_split("zs1", 50, 0, GRAMMAR)
    sampling = SamplingConfig(type_balanced_fraction=1.0, types=("nav_bw_obj", "rec_bw_obj2obj", "rec_bw_obj2col"))
    teacher = Teacher(split=split, phase=phase, catalog=CATALOG, sampling=sampling)
    episode = teacher.begin(0, np.arange(300))
    judged = 0
    for sentences in (episode.command, episode.question):
        for b in range(300):
            meaning = teacher.meaning(sentences, b)
            if meaning is not None:
                assert split.allows(meaning, phase)
                judged += "obj2" in meaning.slots
    assert judged > 150


def test_tables_grow_at_most_linearly() -> None:
    rows, cells = {}, {}
    for classes in (600, 2400):
        for kind in ("zs1", "zs2", "novel", "category"):
            teacher = EnvOptions(icons=f"procedural:{classes}", split=kind).teacher()
            table = allowed_table(teacher.split, teacher.phase, teacher.grammar)
            assert table is not None
            rows[kind, classes], cells[kind, classes] = len(table.allowed), table.group.size
    for kind in ("zs2", "novel", "category"):
        assert rows[kind, 600] == rows[kind, 2400] < 300
    for kind in ("zs1", "zs2", "novel", "category"):
        assert rows[kind, 2400] < 4.5 * rows[kind, 600]
        assert cells[kind, 2400] < 4.5 * cells[kind, 600]
