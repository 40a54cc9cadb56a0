"""Episodes: true, reachable, allowed by the split, and a pure function of (seed, index)."""

import hashlib
import multiprocessing
from collections import Counter
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from groundling.errors import InputError
from groundling.teacher.grammar import COMMANDS, QUESTIONS, TYPES
from groundling.teacher.splits import Split
from groundling.teacher.teacher import EpisodeBatch, Lessons, Teacher
from groundling.world.catalog import COLOR_NAMES, FIRST_ICON, NO_COLOR, WALL, Catalog
from groundling.world.shortest_path import best_actions
from tests.independent_judge import Thing, Unasked, World, answer, target

PHASES = [("normal", "train"), ("zs1", "train"), ("zs1", "test"), ("zs2", "train"), ("zs2", "test")]


def play(teacher: Teacher, episode: EpisodeBatch, actions: NDArray[np.int64]) -> tuple[EpisodeBatch, Any]:
    """Step, and begin the next episode where one ends."""
    episode, outcome = teacher.step(episode, actions)
    return teacher.reset(episode, outcome.terminated | outcome.truncated, episode.index + len(actions)), outcome


def things(catalog: Catalog, grid: list[int], objects: list[int], size: int) -> list[Thing]:
    """The objects of a map as the judge wants them."""
    found = []
    for position in objects:
        if position >= 0:
            icon = grid[position] - FIRST_ICON
            color = catalog.icon_color[icon]
            name = catalog.classes[catalog.icon_class[icon]]
            found.append(Thing(name, None if color == NO_COLOR else COLOR_NAMES[color], divmod(position, size)))
    return found


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "phase", "steps"), [("normal", "train", 1000), ("zs1", "test", 60), ("zs2", "train", 60)]
)
def test_the_second_judge_agrees(splits: dict[str, Split], kind: str, phase: str, steps: int) -> None:
    """A million steps of random actions: each question and command may be said, and its answer or target is true."""
    split = splits[kind]
    teacher = Teacher(Lessons(balanced=0.3), split, phase)
    size, words, catalog = 7, teacher.lexicon.words, teacher.catalog
    rng = np.random.default_rng(0)
    episode = teacher.begin(11, np.arange(1000))
    worlds: list[tuple[list[Thing], set[tuple[int, int]]]] = [([], set())] * 1000
    fresh = np.ones(1000, np.bool_)
    asked = Counter[str]()
    for _ in range(steps):
        agents = episode.state.agent.tolist()
        answers = episode.question.answer.tolist()
        for b in range(1000):
            if fresh[b]:
                grid = episode.state.grid[b].tolist()
                walls = {divmod(position, size) for position, cell in enumerate(grid) if cell == WALL}
                worlds[b] = things(catalog, grid, episode.state.objects[b].tolist(), size), walls
                command = teacher.meaning(episode.command, b)
                assert command is not None
                assert split.allows(command, phase)
                position = target(World(size, *worlds[b], divmod(agents[b], size)), command.type, command.slots)
                assert position == divmod(int(episode.state.target[b]), size)
            question = teacher.meaning(episode.question, b)
            if question is None:
                assert answers[b] == -1
                continue
            assert split.allows(question, phase)
            world = World(size, *worlds[b], divmod(agents[b], size))
            assert answer(world, question.type, question.slots) == words[answers[b]]
            asked[question.type] += 1
        episode, outcome = play(teacher, episode, rng.integers(0, 4, 1000))
        fresh = outcome.terminated | outcome.truncated
    assert set(asked) == {name for name in teacher.types if name in QUESTIONS}


def test_the_judge_can_disagree(splits: dict[str, Split]) -> None:
    """The judge is no rubber stamp: of another world's questions it finds most unaskable or falsely answered."""
    teacher = Teacher()
    episode = teacher.begin(5, np.arange(300))
    wrong = 0
    for b in range(299):
        question = teacher.meaning(episode.question, b)
        if question is None:
            continue
        other = things(teacher.catalog, episode.state.grid[b + 1].tolist(), episode.state.objects[b + 1].tolist(), 7)
        try:
            said = answer(
                World(7, other, set(), divmod(int(episode.state.agent[b + 1]), 7)), question.type, question.slots
            )
        except Unasked:
            wrong += 1
        else:
            wrong += said != teacher.lexicon.words[episode.question.answer[b]]
    assert wrong > 200


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "phase"), PHASES)
def test_the_oracle_reaches_every_target(splits: dict[str, Split], kind: str, phase: str) -> None:
    """20,000 episodes of each type: the target is reached in exactly the shortest length, for -0.1 a step and +1."""
    n = 20_000
    possible = Teacher(split=splits[kind], phase=phase).types
    assert ("nav_obj" in possible) == ((kind, phase) != ("zs1", "test"))
    for name in possible:
        teacher = Teacher(Lessons(balanced=1.0, types=(name,)), splits[kind], phase)
        episode = teacher.begin(3, np.arange(n))
        sentences = episode.command if name in COMMANDS else episode.question
        assert (sentences.type == TYPES.index(name)).all()
        length = best_actions(episode.state)[1]
        assert (length > 0).all()
        total = np.zeros(n)
        arrived = np.zeros(n, np.int64)
        going = np.ones(n, np.bool_)
        for t in range(1, length.max() + 1):
            episode, outcome = teacher.step(episode, best_actions(episode.state)[0], ask=False)
            total += outcome.reward * going
            arrived[going & outcome.terminated] = t
            going &= ~outcome.terminated
        assert not going.any()
        assert (arrived == length).all()
        np.testing.assert_allclose(total, 1 - 0.1 * length, atol=1e-9)


def test_type_shares() -> None:
    """As triggered, maps near to always allow nav_obj and nav_nr_obj, seldom the other two."""
    types = Teacher().begin(0, np.arange(20_000)).command.type
    shares = np.bincount(types, minlength=4) / len(types)
    np.testing.assert_allclose(shares, [0.43, 0.09, 0.44, 0.04], atol=0.015)


def test_nothing_is_the_answer_one_time_in_ten() -> None:
    teacher = Teacher(Lessons(balanced=1.0, types=("rec_loc2obj",)))
    answers = teacher.begin(0, np.arange(20_000)).question.answer
    assert abs((answers == teacher.lexicon.token["nothing"]).mean() - 0.1) < 0.01


def digest(seed: int, indices: list[int], steps: int = 40, batch: int | None = None, drawn: bool = False) -> list[str]:
    """Per episode index, a hash of all that happens in it under fixed actions, played in batches of a size."""
    from groundling.world.rendering import draw, view_cells

    teacher = Teacher(Lessons(balanced=0.2, curriculum=100))
    hashes = []
    for start in range(0, len(indices), batch or len(indices)):
        part = indices[start : start + (batch or len(indices))]
        episode = teacher.begin(seed, part)
        running = [hashlib.sha256() for _ in part]
        for t in range(steps):
            actions = (np.array(part) * 7 + t * t) % 4
            if drawn:
                draw(view_cells(episode.state), teacher.catalog.pictures[12])
            for b in range(len(part)):
                for name, array in episode.arrays().items():
                    if name != "seed":
                        running[b].update(np.ascontiguousarray(array[b]).tobytes())
            episode, _ = teacher.step(episode, actions)
        hashes += [h.hexdigest() for h in running]
    return hashes


GOLDEN = ["a30befd216348652", "fcd8a0dcb84cc078"]


@pytest.mark.slow
def test_same_seed_and_index_same_session() -> None:
    """Whatever the batch size, the order, the process, and whether anything is drawn."""
    indices = list(range(256))
    whole = digest(42, indices, steps=6)
    assert digest(42, indices[:21], steps=6, batch=1) == whole[:21]
    assert digest(42, indices, steps=6, batch=7) == whole
    assert digest(42, indices[::-1], steps=6, batch=64, drawn=True) == whole[::-1]
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        parts = pool.starmap(digest, [(42, indices[:128], 6), (42, indices[128:], 6)])
    assert parts[0] + parts[1] == whole
    runs = whole, digest(7, indices[:32])
    assert [hashlib.sha256("".join(hashes).encode()).hexdigest()[:16] for hashes in runs] == GOLDEN


def test_curriculum() -> None:
    """Episodes grow with their index: open space, objects, walls, classes and words."""
    teacher = Teacher(Lessons(curriculum=1000))
    n = 2000
    episode = teacher.begin(0, np.arange(n))
    walls = (episode.state.grid == WALL).sum(axis=1)
    objects = (episode.state.objects >= 0).sum(axis=1)
    words = (episode.command.tokens != teacher.lexicon.pad).sum(axis=1)
    early, late = slice(0, 100), slice(1000, n)
    assert (walls[early] >= 40).all()  # 49 - 3 x 3
    assert (objects[early] == 1).all()
    assert words[early].max() <= 5
    assert walls[late].max() == 15
    assert objects[late].max() == 5
    assert words[late].max() > 11
    classes = [teacher.catalog.icon_class[episode.state.grid[part].max(axis=1) - FIRST_ICON] for part in (early, late)]
    assert len(set(classes[0].tolist())) <= 24
    assert len(set(classes[1].tolist())) > 100


def test_snapshot_goes_on_the_same() -> None:
    teacher = Teacher()
    actions = np.random.default_rng(0).integers(0, 4, (30, 16))
    episode = teacher.begin(1, np.arange(16))
    for action in actions[:10]:
        episode, _ = play(teacher, episode, action)
    restored = EpisodeBatch.of(episode.arrays())
    for action in actions[10:]:
        episode, _ = play(teacher, episode, action)
        restored, _ = play(teacher, restored, action)
    for name, array in episode.arrays().items():
        np.testing.assert_array_equal(array, restored.arrays()[name])


def test_step_leaves_its_argument_alone() -> None:
    teacher = Teacher()
    episode = teacher.begin(0, np.arange(8))
    before = episode.arrays()
    after, _ = teacher.step(episode, np.zeros(8, np.int64))
    teacher.reset(after, np.ones(8, np.bool_), np.arange(8, 16))
    for name, array in episode.arrays().items():
        np.testing.assert_array_equal(array, before[name])


@pytest.mark.parametrize(
    ("lessons", "complaint"),
    [
        ({"size": 2}, "map size 2"),
        ({"objects": (0, 5)}, r"objects 0\.\.5"),
        ({"objects": (3, 2)}, r"objects 3\.\.2"),
        ({"walls": (-1, 5)}, r"walls -1\.\.5"),
        ({"size": 4, "walls": (0, 15)}, "too many for 4 x 4"),
        ({"max_steps": 0}, "max_steps 0"),
        ({"balanced": 1.5}, r"balanced 1\.5"),
        ({"types": ("nav_obb",)}, "unknown sentence type 'nav_obb'"),
        ({"curriculum": -1}, "curriculum -1"),
    ],
)
def test_bad_lessons(lessons: dict[str, Any], complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        Lessons(**lessons)


def test_impossible_sessions_are_refused(splits: dict[str, Split]) -> None:
    with pytest.raises(InputError, match="has no sentence of type nav_obj"):
        Teacher(Lessons(balanced=1.0, types=("nav_obj",)), splits["zs1"], "test").begin(0, [0])
    with pytest.raises(InputError, match="nav_bw_obj needs 2 objects"):
        Teacher(Lessons(objects=(1, 1), balanced=1.0, types=("nav_bw_obj",))).begin(0, [0])
    everything = Split("zs2", 99, 0, tuple((word,) for word in Catalog.default().classes))
    with pytest.raises(InputError, match="no map triggers"):
        Teacher(split=everything, phase="train").begin(0, [0])
    with pytest.raises(InputError, match="seed -1"):
        Teacher().begin(-1, [0])
    with pytest.raises(InputError, match="episode index"):
        Teacher().begin(0, [-2])
