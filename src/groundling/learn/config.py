"""Everything that determines a training run, as data: the same config and one thread give the same weights."""

import dataclasses
from dataclasses import asdict, dataclass, replace
from typing import Any, Self

from groundling.agent.config import AgentConfig
from groundling.errors import InputError, nearest
from groundling.teacher.grammar import QUESTIONS
from groundling.teacher.splits import Split
from groundling.teacher.teacher import Lessons, Teacher
from groundling.world.catalog import Catalog


@dataclass(frozen=True)
class QAPretrainingConfig:
    """The first stage of `fast`: questions alone, on what a random walk shows."""

    updates: int = 0
    """At the most so many; 0 leaves the stage out."""
    target: float = 0.97
    """It ends when this share of the latest questions is answered right at full difficulty."""
    batch: int = 128
    """Worlds walked in at once, and questions in an update."""
    rate: float = 1e-3
    """Learning rate of Adam."""
    warmup_updates: int = 100
    """Updates over which the learning rate grows to its full size, or many ReLUs die at once."""
    reset_prob: float = 0.3
    """Chance at each step that a world is left for a new one."""
    balanced: float = 0.1
    """Share of the worlds drawn for a question type. A larger one slows everything: the rare types are made of the
    common ones, and are learned fast in the next stage once these are."""
    curriculum: int = 20_000
    """G: the difficulty grows over so many episodes. Without it, some seeds never learn to answer with objects: while
    nothing is told apart yet, a blurred map gives the safest answers, and its gates close for good."""
    gate_coef: float = 0.1
    """Weight of the mean gate. A few seeds else answer where something is from a map that is convolved with itself,
    right but of no use to other questions: of all readings that answer right, the simplest is shared."""
    max_grad_norm: float = 10.0
    """Norm above which a gradient is cut."""


@dataclass(frozen=True)
class PPOConfig:
    """The second stage of `fast`: navigation by proximal policy optimization, with questions at every step."""

    updates: int = 0
    """Rounds of acting and learning; 0 leaves the stage out."""
    envs: int = 128
    """Worlds lived in at once."""
    steps: int = 16
    """Steps in each of them in a round."""
    epochs: int = 2
    """How often a round's frames are learned from."""
    group: int = 16
    """Worlds in a minibatch, with all their steps, so that a command is read once for many frames."""
    rate: float = 7e-4
    """Learning rate of Adam at first; it falls to zero over the stage."""
    planner_lr: float = 3e-3
    """The same for the planner and the terrain, which are small and begin from nothing here, and for the
    sharpness of maps, a single number that has far to go."""
    gamma: float = 0.95
    """Discount. With the paper's 0.99 a young agent's values are large and negative, and learning starts slowly."""
    gae_lambda: float = 0.95
    """Lambda of the generalized advantage."""
    clip: float = 0.2
    """How far the ratio of probabilities may move."""
    entropy: float = 0.01
    """Weight of the entropy bonus at first; it falls to zero over the stage, so that the agent makes up its mind: a
    greedy policy that was never trained to be one walks to and fro."""
    value: float = 0.25
    """Weight of the value loss."""
    answers: float = 1.0
    """Weight of the answers' loss."""
    hindsight: float = 0.3
    """Weight of looking back: where a command was rewarded, there its attention should have been all along."""
    balanced: float = 0.6
    """Share of the worlds drawn for a sentence type ..."""
    types: tuple[str, ...] = (
        "nav_col_obj",
        "nav_bw_obj",
        "rec_col_obj2loc",
        "rec_bw_obj2obj",
        "rec_bw_obj2loc",
        "rec_bw_obj2col",
    )
    """... one of these: those that worlds drawn at random seldom trigger. Left out are those that the split and
    the maps cannot have."""
    max_grad_norm: float = 10.0
    """Norm above which a gradient is cut; a small one shared by all losses would drown the answers'."""


@dataclass(frozen=True)
class ActorCriticConfig:
    """The paper's learning: one-step actor-critic from prioritized replay."""

    updates: int = 0
    """Minibatches; 0 leaves the stage out."""
    batch: int = 16
    """Steps in a minibatch, and worlds that make a step before each."""
    rate: float = 1e-5
    """Learning rate of Adagrad."""
    weight_decay: float = 16e-4
    """The paper's 1e-4 times the batch, because its losses are sums over the batch."""
    gamma: float = 0.99
    """Discount."""
    replay: int = 10_000
    """The latest steps, from which minibatches are drawn."""
    priority: float = 0.7
    """Exponent of the rank-based chance: P(step of rank r) ~ r ** -priority (Schaul et al., 2016)."""
    target_update_interval: int = 1000
    """The target parameters are renewed after so many updates."""
    exploration_steps: int = 1_000_000
    """Over so many steps of all worlds the chance of a random action falls linearly ..."""
    final_exploration: float = 0.1
    """... from 1 to this."""
    curriculum: int = 25_000
    """G."""
    balanced: float = 0.0
    """Share of the worlds drawn for a sentence type."""


@dataclass(frozen=True)
class TrainConfig:
    """A whole run: what is learned, where, and how. Stages with updates are gone through in the order given here."""

    seed: int = 0
    """Determines the first weights, the worlds and all chance."""
    split: str = "normal"
    """What training holds out: nothing (normal), pairs (zs1), words (zs2, novel), or pairs and words (joined)."""
    holdout: float = 50.0
    """X: the percentage held out."""
    split_seed: int = 0
    """Draws what is held out."""
    classes: int | None = None
    """Object classes in the world; None: all."""
    lessons: Lessons = Lessons()  # noqa: RUF009 - frozen, as all defaults here are
    """Sizes of the world; the stages set how its episodes are drawn."""
    agent: AgentConfig = AgentConfig()  # noqa: RUF009
    """The model."""
    questions: QAPretrainingConfig = QAPretrainingConfig()
    ppo: PPOConfig = PPOConfig()
    actor_critic: ActorCriticConfig = ActorCriticConfig()
    word_weight_decay: float = 0.0
    """Share, times the learning rate, by which an update shrinks the word table, but for the paper's learning. Words
    start as random vectors; a reader that tells those it hears apart by this noise is at a loss with a new one."""
    reader_weight_decay: float = 0.0
    """The same for the weights by which the interpreter's reader takes words in."""
    word_dropout: float = 0.0
    """Share of the words that the interpreter takes for invented ones while it learns, but for the paper's learning. It
    then reads a sentence by its build, not by the words it knows, and can do so with a word that it never heard."""
    eval_interval: int = 10
    """Lines of the metrics between evaluations."""
    eval_episodes: int = 500
    """Whole episodes in each."""
    target_success: float | None = None
    """Training stops when an evaluation finds this share of episodes successful (None: it goes on to its end) ..."""
    target_accuracy: float = 1.0
    """... and this share of questions answered right."""

    def __post_init__(self) -> None:
        if self.seed < 0:
            raise InputError(f"seed {self.seed}: it is a whole number, 0 or more")
        if self.agent.view != 2 * self.lessons.size - 1:
            raise InputError(
                f"agent view {self.agent.view}: on maps of size {self.lessons.size} it is {2 * self.lessons.size - 1}"
            )
        if self.classes is not None and not 1 <= self.classes <= len(Catalog.default().classes):
            raise InputError(f"classes {self.classes}: there are from 1 to {len(Catalog.default().classes)}")
        if not any(stage.updates for stage in self.stages.values()):
            raise InputError("a run without updates: give some stage one or more")
        for name in ("word_decay", "reader_decay"):
            if getattr(self, name) < 0:
                raise InputError(f"{name} {getattr(self, name)}: it is 0 or more")
        if not 0 <= self.word_dropout <= 1:
            raise InputError(f"mishearing {self.word_dropout}: it is from 0 to 1")
        for name, stage in self.stages.items():
            _check(name, {k: v for k, v in asdict(stage).items() if k != "types"})
        if self.ppo.envs % self.ppo.group:
            raise InputError(f"ppo.envs {self.ppo.envs}: it is a multiple of ppo.group, {self.ppo.group}")

    @property
    def stages(self) -> dict[str, QAPretrainingConfig | PPOConfig | ActorCriticConfig]:
        """All stages by their names, in order; one without updates is left out of the run."""
        return {"questions": self.questions, "ppo": self.ppo, "actor_critic": self.actor_critic}

    def catalog(self) -> Catalog:
        """The icons: all, or those of some classes, evenly taken."""
        whole = Catalog.default()
        if self.classes is None:
            return whole
        return whole.only([whole.classes[k * len(whole.classes) // self.classes] for k in range(self.classes)])

    def split_for(self, kind: str) -> Split:
        """What this run's training holds out, put to the test as `kind`."""
        catalog = self.catalog()

        def draw(kind: str) -> Split:
            return Split.draw(kind, self.holdout, self.split_seed, catalog.classes, catalog.pairs)

        if self.split != "joined":
            return draw(self.split)
        return draw("zs1").joined(draw("zs2")) if kind == "zs1" else draw("zs2").joined(draw("zs1"))

    def teacher(self, stage: str) -> Teacher:
        """The teacher of a stage."""
        chosen = self.stages[stage]
        split, catalog = self.split_for(self.split), self.catalog()
        lessons = replace(self.lessons, balanced=chosen.balanced)
        if not isinstance(chosen, PPOConfig):
            lessons = replace(lessons, curriculum=chosen.curriculum)
        teacher = Teacher(lessons, split, "train", catalog)
        if isinstance(chosen, ActorCriticConfig):
            return teacher
        wanted = chosen.types if isinstance(chosen, PPOConfig) else QUESTIONS
        types = tuple(name for name in wanted if name in teacher.types)
        return Teacher(replace(lessons, types=types or None), split, "train", catalog)

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def of(cls, record: dict[str, Any]) -> Self:
        """From plain data; an unknown key is an error."""
        made: Self = _of(cls, record, "config")
        return made


def _of(kind: type[Any], record: dict[str, Any], where: str) -> Any:
    """A dataclass from plain data, with the dataclasses in it."""
    known = {field.name: field for field in dataclasses.fields(kind)}
    values: dict[str, Any] = {}
    for name, value in record.items():
        if name not in known:
            raise InputError(f"unknown field {name!r} of a {where}{nearest(name, known)}")
        inner = known[name].default
        if dataclasses.is_dataclass(inner):
            value = _of(type(inner), value, name)
        values[name] = tuple(value) if isinstance(value, list) else value
    return kind(**values)


def _check(stage: str, settings: dict[str, Any]) -> None:
    """Numbers that no stage can have."""
    for name, value in settings.items():
        if name in ("batch", "warm_up", "envs", "steps", "epochs", "group", "replay", "target_delay"):
            right, what = value >= 1, "1 or more"
        elif name in ("rate", "planner_rate", "gradient_clip", "clip", "exploration_steps"):
            right, what = value > 0, "above 0"
        elif name in ("target", "renewed", "balanced", "gamma", "trace", "exploration_end"):
            right, what = 0 <= value <= 1, "from 0 to 1"
        else:
            right, what = value >= 0, "0 or more"
        if not right:
            raise InputError(f"{stage}.{name} {value}: it is {what}")


_OURS = AgentConfig(
    planner="value_iteration",
    temperature=5.0,
    detect="words",
    sharpness=2.0,
    gate=8.0,
    sweeps=20,
    init="he",
    pixel_zero=240.0,
    pixel_unit=64.0,
)
PRESETS = {
    "fast": TrainConfig(
        agent=_OURS,
        questions=QAPretrainingConfig(updates=4000),
        ppo=PPOConfig(updates=100),
        word_weight_decay=0.5,
        reader_weight_decay=1.0,
        word_dropout=0.1,
    ),
    "paper": TrainConfig(actor_critic=ActorCriticConfig(updates=200_000)),
    "smoke": TrainConfig(
        agent=replace(_OURS, view=9),
        lessons=Lessons(size=5, objects=(1, 4), walls=(0, 5)),
        classes=20,
        split="joined",
        holdout=20.0,
        questions=QAPretrainingConfig(updates=1000, curriculum=3000),
        ppo=PPOConfig(updates=40),
        word_weight_decay=0.5,
        reader_weight_decay=1.0,
        word_dropout=0.1,
    ),
}
"""`fast` is ours, `paper` the paper's, and `smoke` a small world for a first look."""
