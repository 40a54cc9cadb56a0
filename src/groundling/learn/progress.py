"""Where a training run stands, as it is saved and reported."""

from dataclasses import dataclass, field


@dataclass
class Progress:
    """The progress of a run."""

    stage: str
    updates: int = 0
    """Updates of the current stage."""
    lines: int = 0
    """Lines of metrics.jsonl."""
    frames: int = 0
    """Observations learned from."""
    env_steps: int = 0
    episodes: int = 0
    seconds: float = 0.0
    """Training time, cumulative over resumes."""
    cpu_seconds: float = 0.0
    """CPU time of the main process, cumulative over resumes: with one thread and one worker, the training time on an
    idle machine."""
    best: float = -1.0
    """Mean of success rate and QA accuracy in the best evaluation."""
    stale: int = 0
    """Evaluations since the best one."""
    evaluation: dict[str, float] = field(default_factory=dict)
    """The latest evaluation."""
    unlogged: dict[str, tuple[float, float]] = field(default_factory=dict)
    """Sums and counts of the updates since the last line."""
