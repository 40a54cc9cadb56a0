"""The settings of each training algorithm, as data."""

from dataclasses import dataclass
from typing import Any

from groundling.errors import check_choice, check_float, check_int
from groundling.teacher.language import Language
from groundling.teacher.teacher import Teacher
from groundling.teacher.types import SamplingConfig


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
    """Steps in a minibatch."""
    # Fewer, larger batches of actions take less time: 32 instead of 25 updates per second with 8.
    acting_interval: int = 1
    """Updates between two steps of the environments, of which there are batch_size * acting_interval."""
    optimizer: str = "adagrad"
    """Optimizer: `adagrad` (the paper's text), `rmsprop` (Adagrad that forgets old gradients) or `adam`."""
    lr: float = 1e-5
    """Learning rate."""
    # The paper's 1e-4 times the batch size, because its losses are sums over the batch.
    weight_decay: float = 16e-4
    """Weight decay, a term of the gradient."""
    epsilon: float = 1e-10
    """Number added to the root of the accumulated squared gradients."""
    initial_accumulator: float = 0.0
    """Initial value of the accumulated squared gradients of `adagrad`; larger ones make the first steps smaller."""
    accumulator_decay: float = 0.95
    """Decay of the mean of squared gradients of `rmsprop` and `adam`."""
    momentum: float = 0.9
    """Decay of the mean of gradients of `adam`."""
    loss_reduction: str = "sum"
    """Losses are the `sum` over the minibatch (the paper's text) or its `mean`."""
    max_grad_norm: float | None = None
    """Gradient norm above which gradients are scaled down to it (None: never, as in the paper)."""
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

    @property
    def num_envs(self) -> int:
        """Number of parallel environments."""
        return self.batch_size * self.acting_interval

    def sampling(self, teacher: Teacher) -> SamplingConfig:
        """How episodes are sampled, given the sentence types of language, split and maps."""
        return SamplingConfig(self.curriculum_episodes, self.type_balanced_fraction)


MAX_COUNT = 1 << 31
_AT_LEAST_1 = (
    "batch_size",
    "acting_interval",
    "warmup_updates",
    "num_envs",
    "num_steps",
    "epochs",
    "envs_per_minibatch",
    "replay_size",
    "target_update_interval",
    "exploration_steps",
)
_ABOVE_0 = ("lr", "planner_lr", "sharpness_lr", "max_grad_norm", "clip_range", "epsilon")
_FRACTIONS = (
    "target_accuracy",
    "reset_prob",
    "type_balanced_fraction",
    "gamma",
    "gae_lambda",
    "final_exploration",
    "accumulator_decay",
    "momentum",
)
_CHOICES = {"optimizer": ("adagrad", "rmsprop", "adam"), "loss_reduction": ("sum", "mean")}


def check_stage(stage: str, settings: dict[str, Any]) -> None:
    """Check the settings of a stage."""
    for name, value in settings.items():
        label = f"{stage}.{name}"
        if name in _CHOICES:
            check_choice(label, value, _CHOICES[name])
        elif name in _AT_LEAST_1:
            check_int(label, value, 1, MAX_COUNT)
        elif name in _FRACTIONS:
            check_float(label, value, 0, 1)
        elif value is not None and not isinstance(value, bool | tuple):
            check_float(label, value, 0, above=name in _ABOVE_0)
