"""Episodes: sentences are valid and allowed by the split, targets reachable, all a function of (seed, index)."""

import hashlib
import multiprocessing
from collections import Counter
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from groundling.errors import InputError
from groundling.teacher.grammar import Grammar
from groundling.teacher.language import Language
from groundling.teacher.splits import Split
from groundling.teacher.teacher import Teacher
from groundling.teacher.types import EpisodeBatch, SamplingConfig
from groundling.teacher.valid_sentences import valid_sentences
from groundling.world.catalog import COLOR_NAMES, FIRST_ICON, NO_COLOR, WALL, Catalog
from groundling.world.shortest_path import best_actions
from groundling.world.types import State, WorldConfig
from tests.independent_judge import InvalidSentence, MapObject, World, answer, target

PAPER = Language.paper()
PHASES = [("normal", "train"), ("zs1", "train"), ("zs1", "test"), ("zs2", "train"), ("zs2", "test")]


def play(teacher: Teacher, episode: EpisodeBatch, actions: NDArray[np.int64]) -> tuple[EpisodeBatch, Any]:
    """Step, and begin the next episode where one ends."""
    episode, outcome = teacher.step(episode, actions)
    return teacher.reset(episode, outcome.terminated | outcome.truncated, episode.index + len(actions)), outcome


def map_objects(catalog: Catalog, grid: list[int], objects: list[int], size: int) -> list[MapObject]:
    """The objects of a map in the form of `tests.independent_judge`."""
    found = []
    for position in objects:
        if position >= 0:
            icon = grid[position] - FIRST_ICON
            color = catalog.icon_color[icon]
            name = catalog.classes[catalog.icon_class[icon]]
            found.append(MapObject(name, None if color == NO_COLOR else COLOR_NAMES[color], divmod(position, size)))
    return found


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "phase", "steps"), [("normal", "train", 1000), ("zs1", "test", 60), ("zs2", "train", 60)]
)
def test_independent_judge_agrees(splits: dict[str, Split], kind: str, phase: str, steps: int) -> None:
    """In a million random steps, every command and question is valid, and its target or answer is true."""
    split = splits[kind]
    teacher = Teacher(split=split, phase=phase, sampling=SamplingConfig(type_balanced_fraction=0.3))
    size, words, catalog = 7, teacher.lexicon.words, teacher.catalog
    rng = np.random.default_rng(0)
    episode = teacher.begin(11, np.arange(1000))
    worlds: list[tuple[list[MapObject], set[tuple[int, int]]]] = [([], set())] * 1000
    new = np.ones(1000, np.bool_)
    asked = Counter[str]()
    for _ in range(steps):
        agents = episode.state.agent.tolist()
        answers = episode.question.answer.tolist()
        for b in range(1000):
            if new[b]:
                grid = episode.state.grid[b].tolist()
                walls = {divmod(position, size) for position, cell in enumerate(grid) if cell == WALL}
                worlds[b] = map_objects(catalog, grid, episode.state.objects[b].tolist(), size), walls
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
        new = outcome.terminated | outcome.truncated
    assert set(asked) == {name for name in teacher.types if name in PAPER.questions}
    assert asked.total() > 400 * steps


def test_independent_judge_can_disagree() -> None:
    """Most questions about one map are invalid or have another answer on the next map."""
    teacher = Teacher()
    episode = teacher.begin(5, np.arange(300))
    wrong = 0
    for b in range(299):
        question = teacher.meaning(episode.question, b)
        if question is None:
            continue
        other = map_objects(
            teacher.catalog, episode.state.grid[b + 1].tolist(), episode.state.objects[b + 1].tolist(), 7
        )
        try:
            found = answer(
                World(7, other, set(), divmod(int(episode.state.agent[b + 1]), 7)), question.type, question.slots
            )
        except InvalidSentence:
            wrong += 1
        else:
            wrong += found != teacher.lexicon.words[episode.question.answer[b]]
    assert wrong > 200


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "phase"), PHASES)
def test_every_target_is_reachable_by_the_shortest_path(splits: dict[str, Split], kind: str, phase: str) -> None:
    """In 20,000 episodes per type, the best actions need exactly the shortest length, for -0.1 per step and +1."""
    n = 20_000
    possible = Teacher(split=splits[kind], phase=phase).types
    assert ("nav_obj" in possible) == ((kind, phase) != ("zs1", "test"))
    for name in possible:
        sampling = SamplingConfig(type_balanced_fraction=1.0, types=(name,))
        teacher = Teacher(split=splits[kind], phase=phase, sampling=sampling)
        episode = teacher.begin(3, np.arange(n))
        sentences = episode.command if name in PAPER.commands else episode.question
        assert (sentences.type == PAPER.type_names.index(name)).all()
        length = best_actions(episode.state)[1]
        assert (length > 0).all()
        total = np.zeros(n)
        arrived = np.zeros(n, np.int64)
        running = np.ones(n, np.bool_)
        for t in range(1, length.max() + 1):
            episode, outcome = teacher.step(episode, best_actions(episode.state)[0], ask=False)
            total += outcome.reward * running
            arrived[running & outcome.terminated] = t
            running &= ~outcome.terminated
        assert not running.any()
        assert (arrived == length).all()
        np.testing.assert_allclose(total, 1 - 0.1 * length, atol=1e-9)


def test_fractions_of_command_types() -> None:
    """In the natural distribution, most commands are nav_obj and nav_nr_obj."""
    types = Teacher().begin(0, np.arange(20_000)).command.type
    fractions = np.bincount(types, minlength=4) / len(types)
    np.testing.assert_allclose(fractions, [0.43, 0.09, 0.44, 0.04], atol=0.015)


def test_one_object_question_in_ten_is_about_an_empty_cell() -> None:
    teacher = Teacher(sampling=SamplingConfig(type_balanced_fraction=1.0, types=("rec_loc2obj",)))
    answers = teacher.begin(0, np.arange(20_000)).question.answer
    assert abs((answers == teacher.lexicon.token["nothing"]).mean() - 0.1) < 0.01


def digest(seed: int, indices: list[int], steps: int = 40, batch: int | None = None, render: bool = False) -> list[str]:
    """For each episode index, a hash of all arrays of the episode under fixed actions, played in batches of a size."""
    from groundling.world.rendering import draw, view_cells

    teacher = Teacher(sampling=SamplingConfig(curriculum_episodes=100, type_balanced_fraction=0.2))
    hashes = []
    for start in range(0, len(indices), batch or len(indices)):
        part = indices[start : start + (batch or len(indices))]
        episode = teacher.begin(seed, part)
        partial = [hashlib.sha256() for _ in part]
        for t in range(steps):
            actions = (np.array(part) * 7 + t * t) % 4
            if render:
                draw(view_cells(episode.state), teacher.catalog.pictures[12])
            for b in range(len(part)):
                for name, array in episode.arrays().items():
                    if name != "seed":
                        partial[b].update(np.ascontiguousarray(array[b]).tobytes())
            episode, _ = teacher.step(episode, actions)
        hashes += [h.hexdigest() for h in partial]
    return hashes


GOLDEN = ["a30befd216348652", "fcd8a0dcb84cc078"]


@pytest.mark.slow
def test_seed_and_index_determine_the_episode() -> None:
    """Batch size, order, process and rendering make no difference; GOLDEN must not change between versions."""
    indices = list(range(256))
    whole = digest(42, indices, steps=6)
    assert digest(42, indices[:21], steps=6, batch=1) == whole[:21]
    assert digest(42, indices, steps=6, batch=7) == whole
    assert digest(42, indices[::-1], steps=6, batch=64, render=True) == whole[::-1]
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        parts = pool.starmap(digest, [(42, indices[:128], 6), (42, indices[128:], 6)])
    assert parts[0] + parts[1] == whole
    runs = whole, digest(7, indices[:32])
    assert [hashlib.sha256("".join(hashes).encode()).hexdigest()[:16] for hashes in runs] == GOLDEN


def test_curriculum_increases_difficulty_with_the_index() -> None:
    """The limits of open space, objects, classes and words grow with the episode index."""
    teacher = Teacher(sampling=SamplingConfig(curriculum_episodes=1000))
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


def test_restored_snapshot_continues_identically() -> None:
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


def test_step_and_reset_do_not_change_their_argument() -> None:
    teacher = Teacher()
    episode = teacher.begin(0, np.arange(8))
    before = episode.arrays()
    after, _ = teacher.step(episode, np.zeros(8, np.int64))
    teacher.reset(after, np.ones(8, np.bool_), np.arange(8, 16))
    for name, array in episode.arrays().items():
        np.testing.assert_array_equal(array, before[name])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"size": 2}, "size must be an integer from 3 to 64, got 2"),
        ({"size": "7"}, "size must be an integer from 3 to 64, got '7'"),
        ({"size": 9.0}, r"size must be an integer from 3 to 64, got 9\.0"),
        ({"objects": (0, 5)}, "objects must be an integer from 1 to 512, got 0"),
        ({"objects": (3, 2)}, r"objects must be a pair \(minimum, maximum\) with minimum <= maximum, got \(3, 2\)"),
        ({"objects": 3}, r"objects must be a pair \(minimum, maximum\), got 3; for exactly 3 write \(3, 3\)"),
        ({"walls": (-1, 5)}, "walls must be an integer from 0 to 49, got -1"),
        (
            {"size": 4, "walls": (0, 15)},
            "the agent and 2 free cells must fit on the map, got up to 23 cells for a map of 4 x 4",
        ),
        ({"max_steps": 0}, "max_steps must be an integer from 1 to 32767, got 0"),
    ],
)
def test_invalid_world_config_is_rejected(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        WorldConfig(**settings)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"type_balanced_fraction": 1.5},
            r"type_balanced_fraction must be a finite number of at least 0 and at most 1, got 1\.5",
        ),
        ({"type_balanced_fraction": float("nan")}, "type_balanced_fraction must be a finite number .*, got nan"),
        ({"curriculum_episodes": -1}, "curriculum_episodes must be an integer from 0 to .*, got -1"),
        ({"curriculum_episodes": 1e4}, r"curriculum_episodes must be an integer from 0 to .*, got 10000\.0"),
        ({"types": "nav_obj"}, r"types must be a sequence of sentence types such as \(\"nav_obj\",\), got 'nav_obj'"),
        ({"types": (3,)}, r"types must be a sequence of sentence types .*, got \(3,\)"),
        ({"types": ()}, "types must name at least one sentence type, got none"),
        ({"types": ("nav_obb",)}, "sentence type must be one of .*, got 'nav_obb', did you mean 'nav_obj'"),
    ],
)
def test_invalid_sampling_config_is_rejected(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Teacher(sampling=SamplingConfig(**settings))


def test_impossible_episodes_are_rejected(splits: dict[str, Split]) -> None:
    def of_type(name: str) -> SamplingConfig:
        return SamplingConfig(type_balanced_fraction=1.0, types=(name,))

    with pytest.raises(InputError, match="nav_obj has no sentence in the test phase of split zs1"):
        Teacher(split=splits["zs1"], phase="test", sampling=of_type("nav_obj")).begin(0, [0])
    with pytest.raises(InputError, match="nav_bw_obj needs maps with 2 objects, got at most 1"):
        Teacher(WorldConfig(objects=(1, 1)), sampling=of_type("nav_bw_obj")).begin(0, [0])
    with pytest.raises(InputError, match=r"seed must be integers from 0 to \d+, got -1"):
        Teacher().begin(-1, [0])
    with pytest.raises(InputError, match=r"episode index must be integers from 0 to \d+, got \[-2\]"):
        Teacher().begin(0, [-2])


def test_types_are_those_that_split_and_maps_allow(splits: dict[str, Split]) -> None:
    """zs1 holds out pairs of words, so a sentence with one word is no test of it; `between` needs two objects."""
    assert Teacher().types == PAPER.type_names
    assert "nav_obj" not in Teacher(split=splits["zs1"], phase="test").types
    assert "nav_bw_obj" in Teacher(split=splits["zs1"], phase="test").types
    assert "nav_obj" in Teacher(WorldConfig(objects=(1, 1))).types
    assert not {"nav_bw_obj", "nav_col_obj"} & {*Teacher(WorldConfig(objects=(1, 1))).types}


def test_another_question_is_asked_where_the_sampled_type_is_impossible() -> None:
    """Episodes for `rec_col2obj`: while the agent hides the colored object, other questions are asked."""
    teacher = Teacher(sampling=SamplingConfig(type_balanced_fraction=1.0, types=("rec_col2obj",)))
    wanted = PAPER.type_names.index("rec_col2obj")
    episode = teacher.begin(0, np.arange(256))
    assert (episode.question.type == wanted).all()
    others = 0
    rng = np.random.default_rng(0)
    for _ in range(20):
        episode, outcome = teacher.step(episode, rng.integers(0, 4, 256))
        running = ~(outcome.terminated | outcome.truncated)
        for b in np.flatnonzero(running & (episode.question.type != wanted)):
            one = State(*(array[b : b + 1] for array in episode.state))
            valid = valid_sentences(teacher, one)
            questions = [found.type for found in valid if found.type in PAPER.questions and not found.is_empty]
            assert "rec_col2obj" not in questions
            assert (episode.question.type[b] >= 0) == bool(questions)
            others += episode.question.type[b] >= 0
        episode = teacher.reset(episode, ~running, episode.index + 256)
    assert others > 5


def test_step_without_a_question_keeps_nothing_of_the_question_before() -> None:
    teacher = Teacher()
    before = teacher.begin(0, np.arange(500))
    after = teacher.reset(before, np.ones(500, np.bool_), np.arange(500, 1000))
    silent = (after.question.type < 0) & (before.question.type >= 0)
    assert silent.sum() > 5
    assert (after.question.answer[silent] == -1).all()
    assert (after.question.template[silent] == -1).all()
    assert (after.question.slots[silent] == -1).all()
    assert (after.question.tokens[silent] == teacher.lexicon.pad).all()


def test_episodes_without_questions_are_the_same_episodes() -> None:
    """Maps and commands do not depend on whether anything is asked."""
    for sampling in (SamplingConfig(), SamplingConfig(type_balanced_fraction=0.5)):
        teacher = Teacher(sampling=sampling)
        asked, silent = teacher.begin(3, np.arange(200)), teacher.begin(3, np.arange(200), ask=False)
        for one, two in ((asked.state, silent.state), (asked.command, silent.command)):
            for a, b in zip(one, two, strict=True):
                np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize(("kind", "holdout", "phase"), [("zs1", 90, "train"), ("zs2", 99, "train"), ("zs1", 1, "test")])
def test_accepted_teacher_never_fails(
    catalog: Catalog, grammar: Grammar, kind: str, holdout: float, phase: str
) -> None:
    """Extreme holdout, early curriculum and balanced types: refused at construction, or every episode exists."""
    split = Split.draw(kind, holdout, 0, grammar)
    for world in (WorldConfig(), WorldConfig(objects=(5, 5)), WorldConfig(size=3, objects=(1, 2), walls=(0, 1))):
        for curriculum in (0, 10):
            try:
                teacher = Teacher(world, split, phase, catalog, SamplingConfig(curriculum, 0.5))
            except InputError:
                assert phase == "test"  # `nav_obj` is always possible in training
                continue
            assert len(teacher.begin(0, np.arange(300)).index) == 300


def test_split_without_any_allowed_command_is_refused_at_construction() -> None:
    everything = Split("zs2", 99, 0, tuple((word,) for word in Catalog.default().classes))
    with pytest.raises(InputError, match=r"allows no command on these maps; hold out less"):
        Teacher(split=everything, phase="train")
    with pytest.raises(InputError, match=r"allows no command on these maps; hold out more"):
        Teacher(split=Split("zs2", 1, 0, ()), phase="test")
