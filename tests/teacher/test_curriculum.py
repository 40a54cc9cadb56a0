"""The curriculum: limits at its beginning, in its middle and at its end."""

import itertools

from groundling.teacher.curriculum import Difficulty, difficulty, grown

LONGEST = 13
"""Words of the paper's longest sentence."""
FULL = Difficulty(open_size=7, objects=5, walls=15, classes=119, words=LONGEST)


def level(index: int, curriculum: int, easiest_classes: int = 12, easiest_words: int = 5) -> Difficulty:
    return difficulty(index, curriculum, 7, 5, 15, 119, LONGEST, easiest_classes, easiest_words)


def test_limits_at_the_beginning_and_at_the_end() -> None:
    assert level(0, 1000) == Difficulty(open_size=3, objects=1, walls=0, classes=12, words=5)
    assert level(1000, 1000) == FULL
    assert level(0, 0) == FULL
    assert level(999, 1000) == FULL  # the last part of the curriculum is at full difficulty, too


def test_every_value_has_an_equal_part_of_the_curriculum() -> None:
    """Five sizes of the open space, 3 to 7, in 1,000 episodes: 200 episodes each."""
    sizes = [level(index, 1000).open_size for index in range(1000)]
    assert [sizes.count(size) for size in range(3, 8)] == [200] * 5
    assert [grown(1, 3, part, 9) for part in range(9)] == [1, 1, 1, 2, 2, 2, 3, 3, 3]


def test_difficulty_never_decreases() -> None:
    levels = [level(index, 700) for index in range(800)]
    assert all(a <= b for one, two in itertools.pairwise(levels) for a, b in zip(one, two, strict=True))


def test_small_worlds_are_not_enlarged() -> None:
    small = difficulty(0, 100, 2, 1, 0, 5, LONGEST, 12, 5)
    assert small == Difficulty(open_size=2, objects=1, walls=0, classes=5, words=5)


def test_classes_and_words_at_the_beginning() -> None:
    assert level(0, 1000, easiest_classes=40).classes == 40
    assert level(0, 1000, easiest_words=9).words == 9
    assert level(0, 1000, easiest_words=LONGEST + 1).words == LONGEST
