"""Everything that determines a training run, as data: the same config and one thread give the same weights."""

from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from typing import Annotated, Any, Self

import tyro

from groundling.agent import AgentConfig, EnvSpec, ModelConfig
from groundling.agent.registry import config_of
from groundling.errors import InputError, check_choice, check_float, check_int
from groundling.imports import names_code
from groundling.read_json import from_plain
from groundling.teacher.grammar import Grammar
from groundling.teacher.language import Language
from groundling.teacher.splits import JOINT, KINDS, Split, check_holdout
from groundling.teacher.teacher import Teacher, make_split
from groundling.teacher.types import SamplingConfig
from groundling.world.catalog import Catalog
from groundling.world.simulation import ACTIONS
from groundling.world.types import WorldConfig

WORD_DROPOUT_WORDS = ("all", "answers")


@dataclass(frozen=True)
class QAPretrainingConfig:
    """First stage of `fast`: question answering alone, on the observations of a random walk."""

    updates: int = 0
    """Maximum number of updates of QA pretraining; 0 skips this stage."""
    target_accuracy: float = 0.97
    """Recent QA accuracy (0 to 1) at full difficulty at which the stage ends."""
    batch_size: int = 128
    """Number of parallel environments, each of which gives at most one question per update."""
    lr: float = 1e-3
    """Learning rate of AdamW."""
    # Without warmup, many ReLUs die in the first updates.
    warmup_updates: int = 100
    """Updates over which the learning rate rises linearly from zero."""
    reset_prob: float = 0.3
    """Probability at each step that an episode is abandoned and a new one begins."""
    # Rare types such as `between` are compositions of common ones. What is not learned here may never be learned in the
    # next stage, but a large fraction slows learning down.
    type_balanced_fraction: float = 0.1
    """Fraction of episodes for which a question type is sampled first, then a map that allows it."""
    # Without a curriculum, some seeds never learn to answer with objects: early on, a blurred attention map gives the
    # safest answers, and the gates saturate.
    curriculum_episodes: int = 20_000
    """G: number of episodes over which the difficulty grows to its maximum."""
    # Without this loss, some seeds solve localization by convolving the map with itself, which does not transfer to
    # other questions.
    gate_coef: float = 0.1
    """Coefficient of the gate loss, the mean of the interpreter's gates."""
    # Without this loss, some seeds read `?` in the last step, whose map counts most, and never learn to compose.
    reading_coef: float = 0.0
    """Coefficient of the reading loss, the mean frequency of the words that interpretation steps attend to."""
    max_grad_norm: float = 10.0
    """Gradient norm above which gradients are scaled down to it."""

    @property
    def length(self) -> int:
        """Number of calls of `Stage.update`."""
        return self.updates

    def sampling(self, teacher: Teacher) -> SamplingConfig:
        """How episodes are sampled, given the sentence types of language, split and maps."""
        types = tuple(name for name in teacher.language.questions if name in teacher.types)
        return SamplingConfig(self.curriculum_episodes, self.type_balanced_fraction, types or None)


@dataclass(frozen=True)
class PPOConfig:
    """Second stage of `fast`: navigation by PPO (proximal policy optimization), with a question at every step."""

    iterations: int = 0
    """Number of PPO iterations, each a rollout and its updates; 0 skips this stage."""
    num_envs: int = 128
    """Number of parallel environments."""
    num_steps: int = 16
    """Steps of each environment in a rollout."""
    epochs: int = 2
    """Passes over each rollout in updates."""
    # All steps of an environment, so that a command is read once for many observations.
    envs_per_minibatch: int = 16
    """Number of environments in a minibatch, each with all its steps of the rollout."""
    lr: float = 7e-4
    """Initial learning rate of AdamW; it decays linearly to zero."""
    # Higher than `lr`, because these parts are small and untrained when this stage begins.
    planner_lr: float = 3e-3
    """Initial learning rate of planner and terrain; it decays linearly to zero."""
    sharpness_lr: float = 3e-3
    """Initial learning rate of the attention sharpness; it decays linearly to zero."""
    # With the paper's 0.99, early values are large and negative, and learning starts slowly.
    gamma: float = 0.95
    """Discount factor."""
    gae_lambda: float = 0.95
    """Lambda of generalized advantage estimation."""
    clip_range: float = 0.2
    """Clipping range of the probability ratio."""
    # It decays, because a greedy policy that was trained with an entropy bonus to the end oscillates.
    entropy_coef: float = 0.01
    """Initial coefficient of the entropy bonus; it decays linearly to zero."""
    value_coef: float = 0.25
    """Coefficient of the value loss."""
    answer_coef: float = 1.0
    """Coefficient of the answer loss (cross entropy of the answers to questions)."""
    hindsight_coef: float = 0.3
    """Coefficient of the hindsight loss: cross entropy of the attention map with the cell that was rewarded."""
    # A word that only occurs in answers is otherwise trained on the channels that questions select, but not on others.
    naming_coef: float = 0.0
    """Coefficient of the naming loss: cross entropy of where the true answer is detected with the attention map."""
    # Otherwise steps that change nothing attend to anything, and frequent words such as `the` are given a meaning.
    reading_coef: float = 0.0
    """Coefficient of the reading loss, the mean frequency of the words that interpretation steps attend to."""
    # With rewards alone, some seeds never mark walls as obstacles.
    terrain_coef: float = 0.0
    """Coefficient of the terrain loss: cross entropy of the terrain map with whether a move there met an obstacle."""
    type_balanced_fraction: float = 0.6
    """Fraction of episodes for which a sentence type is sampled first, then a map that allows it."""
    # Those that random maps rarely trigger.
    balanced_types: tuple[str, ...] = (
        "nav_col_obj",
        "nav_bw_obj",
        "rec_col_obj2loc",
        "rec_bw_obj2obj",
        "rec_bw_obj2loc",
        "rec_bw_obj2col",
    )
    """Sentence types of the type-balanced fraction, besides a user's own, as far as split and maps allow them."""
    # A small norm would suppress the answer loss.
    max_grad_norm: float = 10.0
    """Gradient norm above which gradients are scaled down to it."""

    @property
    def length(self) -> int:
        """Number of calls of `Stage.update`."""
        return self.iterations

    def sampling(self, teacher: Teacher) -> SamplingConfig:
        """How episodes are sampled, given the sentence types of language, split and maps."""
        own = [name for name in teacher.language.type_names if name not in Language.paper().type_names]
        types = tuple(name for name in (*self.balanced_types, *own) if name in teacher.types)
        return SamplingConfig(0, self.type_balanced_fraction, types or None)


@dataclass(frozen=True)
class ActorCriticConfig:
    """The only stage of `paper`: the paper's one-step actor-critic with prioritized experience replay."""

    updates: int = 0
    """Number of actor-critic updates, each with one minibatch; 0 skips this stage."""
    batch_size: int = 16
    """Steps in a minibatch, and parallel environments that take one step before each update."""
    lr: float = 1e-5
    """Learning rate of Adagrad."""
    # The paper's 1e-4 times the batch size, because its losses are sums over the batch.
    weight_decay: float = 16e-4
    """Weight decay of Adagrad."""
    gamma: float = 0.99
    """Discount factor."""
    replay_size: int = 10_000
    """Capacity of the replay buffer in steps."""
    priority_exponent: float = 0.7
    """Exponent a of prioritized replay: P(step of rank r) ~ r ** -a (Schaul et al., 2016)."""
    target_update_interval: int = 1000
    """Updates between copies of the parameters to the target network."""
    exploration_steps: int = 1_000_000
    """Environment steps over which the probability of a random action falls linearly from 1."""
    final_exploration: float = 0.1
    """Probability of a random action after exploration_steps."""
    curriculum_episodes: int = 25_000
    """G: number of episodes over which the difficulty grows to its maximum."""
    type_balanced_fraction: float = 0.0
    """Fraction of episodes for which a sentence type is sampled first, then a map that allows it."""

    @property
    def length(self) -> int:
        """Number of calls of `Stage.update`."""
        return self.updates

    def sampling(self, teacher: Teacher) -> SamplingConfig:
        """How episodes are sampled, given the sentence types of language, split and maps."""
        return SamplingConfig(self.curriculum_episodes, self.type_balanced_fraction)


@dataclass(frozen=True)
class TrainConfig:
    """A training run. Its stages are run in the order of their fields here; a stage of length 0 is skipped."""

    seed: int = 0
    """Random seed of initial weights, episodes and action sampling."""
    language: str = "paper"
    """Language of the teacher: `paper`, or a language file."""
    split: str = "normal"
    """Held out: nothing (normal), word pairs (zs1), words except as answers (zs2), words (novel), zs1+zs2, categories
    (category), wordings (paraphrase), long sentences (length), icons (icon), or what `module:Class` holds out."""
    holdout: float = 50.0
    """X: percentage of the word pairs, words, wordings or icons that is held out."""
    split_seed: int = 0
    """Random seed of the choice of what is held out."""
    icons: str | None = None
    """Folder of icons that replaces the built-in ones, or `+FOLDER` to add to them (None: the built-in ones)."""
    num_classes: int | None = None
    """Number of object classes in the world (None: all)."""
    world: Annotated[WorldConfig, tyro.conf.arg(name="")] = WorldConfig()  # noqa: RUF009 - frozen, as all defaults here
    """Size and content of the maps."""
    agent: ModelConfig = AgentConfig()  # noqa: RUF009
    """Hyperparameters of the model."""
    qa_pretraining: QAPretrainingConfig = QAPretrainingConfig()
    ppo: PPOConfig = PPOConfig()
    actor_critic: ActorCriticConfig = ActorCriticConfig()
    # Embeddings start as random vectors; a reader that relies on this noise to tell words apart fails on unseen words.
    word_weight_decay: float = 0.0
    """Decoupled weight decay of the word embeddings (not used by actor_critic)."""
    reader_weight_decay: float = 0.0
    """Decoupled weight decay of the input weights of the interpreter's GRU (not used by actor_critic)."""
    # So that the interpreter relies on sentence structure and can read words that it has not seen.
    word_dropout: float = 0.0
    """Fraction of the interpreter's input words replaced by random embeddings (not used by actor_critic)."""
    word_dropout_words: str = "all"
    """Words to which word dropout applies: `all`, or only words that were `answers` in training so far."""
    eval_interval: int = 10
    """Evaluate after this number of logged lines of metrics."""
    eval_episodes: int = 500
    """Number of episodes in each evaluation during training."""
    target_success_rate: float | None = None
    """Stop training when an evaluation reaches this success rate and target_qa_accuracy (None: never)."""
    target_qa_accuracy: float = 1.0
    """QA accuracy at which training stops, if target_success_rate is set and reached, too."""

    def __post_init__(self) -> None:
        check_int("seed", self.seed, 0, (1 << 36) - 1)
        if not names_code(self.split):
            check_choice("split", self.split, (*KINDS, JOINT))
        check_holdout(self.holdout)
        if self.num_classes is not None:
            check_int("num_classes", self.num_classes, 1)
        if not any(stage.length for stage in self.stages.values()):
            raise InputError("at least one stage must have updates or iterations, got none")
        for name in ("word_weight_decay", "reader_weight_decay"):
            check_float(name, getattr(self, name), 0)
        check_float("word_dropout", self.word_dropout, 0, 1)
        check_choice("word_dropout_words", self.word_dropout_words, WORD_DROPOUT_WORDS)
        check_int("eval_interval", self.eval_interval, 1)
        check_int("eval_episodes", self.eval_episodes, 1)
        for name, stage in self.stages.items():
            _check_stage(name, {k: v for k, v in asdict(stage).items() if k != "balanced_types"})
        if self.ppo.num_envs % self.ppo.envs_per_minibatch:
            raise InputError(
                f"ppo.num_envs must be a multiple of ppo.envs_per_minibatch ({self.ppo.envs_per_minibatch}), got "
                f"{self.ppo.num_envs}"
            )

    @property
    def stages(self) -> dict[str, QAPretrainingConfig | PPOConfig | ActorCriticConfig]:
        """All stages by name, in order."""
        return {"qa_pretraining": self.qa_pretraining, "ppo": self.ppo, "actor_critic": self.actor_critic}

    def catalog(self) -> Catalog:
        """The icons of all classes, or of `num_classes` evenly spaced ones."""
        return _catalog(self.icons, self.num_classes)

    def portable(self) -> "TrainConfig":
        """The same config without a path to a language file, if the file's content is all that is needed."""
        return (
            replace(self, language=_language(self.language).text or self.language) if self.language != "paper" else self
        )

    def grammar(self) -> Grammar:
        """The language over these icons."""
        return Grammar(_language(self.language), self.catalog())

    def split_for(self, tested: str) -> Split:
        """What training holds out, tested as `tested` (zs1 or zs2) if it holds out both."""
        return make_split(self.split, self.holdout, self.split_seed, self.grammar(), tested)

    def teacher(self, phase: str = "train", sampling: SamplingConfig | None = None, tested: str = "zs2") -> Teacher:
        """A teacher of this run's world and split, by default with the natural distribution at full difficulty."""
        return Teacher(self.world, self.split_for(tested), phase, self.catalog(), sampling, _language(self.language))

    def stage_teacher(self, stage: str) -> Teacher:
        """The teacher of a training stage."""
        teacher = self.teacher()
        return teacher.with_sampling(self.stages[stage].sampling(teacher))

    def spec(self) -> EnvSpec:
        """The sizes that the world fixes for the model."""
        return EnvSpec(len(self.teacher().lexicon), len(ACTIONS), 2 * self.world.size - 1)

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def of(cls, record: Any) -> Self:
        """The config of plain data; unknown fields and wrong types are errors."""
        if not isinstance(record, dict) or "agent" not in record:
            return from_plain(cls, record, "training config")
        rest = {name: value for name, value in record.items() if name != "agent"}
        return replace(from_plain(cls, rest, "training config"), agent=config_of(record["agent"]))


@lru_cache(maxsize=8)
def _catalog(icons: str | None, num_classes: int | None) -> Catalog:
    """Cached, because a run asks for its catalog many times."""
    whole = Catalog.load(icons)
    if num_classes is None:
        return whole
    check_int("num_classes", num_classes, 1, len(whole.classes))
    return whole.only([whole.classes[k * len(whole.classes) // num_classes] for k in range(num_classes)])


@lru_cache(maxsize=8)
def _language(language: str) -> Language:
    return Language.load(language)


MAX_COUNT = 1 << 31
_AT_LEAST_1 = (
    "batch_size",
    "warmup_updates",
    "num_envs",
    "num_steps",
    "epochs",
    "envs_per_minibatch",
    "replay_size",
    "target_update_interval",
    "exploration_steps",
)
_ABOVE_0 = ("lr", "planner_lr", "sharpness_lr", "max_grad_norm", "clip_range")
_FRACTIONS = (
    "target_accuracy",
    "reset_prob",
    "type_balanced_fraction",
    "gamma",
    "gae_lambda",
    "final_exploration",
)


def _check_stage(stage: str, settings: dict[str, Any]) -> None:
    """Check the numbers of a stage."""
    for name, value in settings.items():
        label = f"{stage}.{name}"
        if name in _AT_LEAST_1:
            check_int(label, value, 1, MAX_COUNT)
        elif name in _FRACTIONS:
            check_float(label, value, 0, 1)
        else:
            check_float(label, value, 0, above=name in _ABOVE_0)


_OURS = AgentConfig(
    planner="value_iteration",
    temperature=5.0,
    word_detection="per_word",
    sharpness=2.0,
    gate_bound=8.0,
    planner_sweeps=20,
    planner_discount=0.7,
    obstacle_contrast=4.0,
    supervised_terrain=True,
    detection_bound=8.0,
    salience=4.0,
    coverage=True,
    init="he",
    pixel_offset=240.0,
    pixel_scale=64.0,
)
_QA = QAPretrainingConfig(type_balanced_fraction=0.3, gate_coef=0.03, reading_coef=1.0)
_PPO = PPOConfig(sharpness_lr=0.01, naming_coef=0.1, reading_coef=0.1, terrain_coef=0.3)
PRESETS = {
    "fast": TrainConfig(
        agent=_OURS,
        qa_pretraining=replace(_QA, updates=6000),
        ppo=replace(_PPO, iterations=60),
        word_weight_decay=0.5,
        reader_weight_decay=1.0,
        word_dropout=0.5,
        word_dropout_words="answers",
    ),
    "paper": TrainConfig(actor_critic=ActorCriticConfig(updates=200_000)),
    "smoke": TrainConfig(
        agent=_OURS,
        world=WorldConfig(size=5, objects=(1, 4), walls=(0, 5)),
        num_classes=20,
        split=JOINT,
        holdout=20.0,
        qa_pretraining=replace(_QA, updates=1000, curriculum_episodes=3000),
        ppo=replace(_PPO, iterations=40),
        word_weight_decay=0.5,
        reader_weight_decay=1.0,
        word_dropout=0.5,
        word_dropout_words="answers",
    ),
}
"""`fast` is ours, `paper` the paper's recipe, and `smoke` a small world for a first try."""
