"""Everything that determines a training run, as data: the same config and one thread give the same weights."""

from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from typing import Annotated, Any, Self

import tyro

from groundling.agent import AgentConfig, EnvSpec, ModelConfig
from groundling.agent.registry import config_of
from groundling.errors import InputError, check_choice, check_float, check_int
from groundling.imports import names_code
from groundling.learn.stage_config import ActorCriticConfig, PPOConfig, QAPretrainingConfig, check_stage
from groundling.read_json import from_plain
from groundling.teacher.grammar import Grammar
from groundling.teacher.language import Language
from groundling.teacher.make_teacher import make_split
from groundling.teacher.splits import JOINT, KINDS, Split, check_holdout
from groundling.teacher.teacher import Teacher
from groundling.teacher.types import SamplingConfig
from groundling.world.catalog import Catalog
from groundling.world.simulation import ACTIONS
from groundling.world.types import WorldConfig

WORD_DROPOUT_WORDS = ("all", "answers")


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
    qa_pretraining: QAPretrainingConfig = QAPretrainingConfig()  # noqa: RUF009
    """First stage of `fast`: question answering alone, on the observations of a random walk."""
    ppo: PPOConfig = PPOConfig()  # noqa: RUF009
    """Second stage of `fast`: navigation by PPO, with a question at every step."""
    actor_critic: ActorCriticConfig = ActorCriticConfig()  # noqa: RUF009
    """The paper's algorithm: actor-critic with experience replay."""
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
    patience: int | None = None
    """Stop training when this number of evaluations brought no better score, the mean of success rate and QA accuracy
    (None: never)."""
    max_frames: int | None = None
    """Stop training when this number of observations was learned from (None: no limit)."""

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
        for name in ("patience", "max_frames"):
            if getattr(self, name) is not None:
                check_int(name, getattr(self, name), 1)
        for name, stage in self.stages.items():
            check_stage(name, asdict(stage))
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
