"""The seeds of all episodes that are not for training.

Training uses the seeds 8 * seed + stage (below 2**40 for every seed a person would type), so no evaluated episode is
ever trained on.
"""

VALIDATION = (1 << 40) + 1000
"""Evaluations during training."""
REPRESENTATIONS = (1 << 40) + 2000
"""Sentences and maps of the figures that show intermediate values."""
FEW_SHOT_EXAMPLES = 1 << 41
"""Examples from which a novel word is learned."""
FEW_SHOT_TEST = 1 << 42
"""Evaluation of a novel word."""
EVALUATION = 1 << 44
"""The final evaluation: this seed for the natural distribution, the following ones for single sentence types."""
EVALUATION_COMMANDS = EVALUATION + 1
"""Seed of the first command type; the others follow."""
EVALUATION_QUESTIONS = EVALUATION + 101
"""Seed of the first question type; the others follow."""

LESSON = 1 << 45
"""Example questions in the prompts of language models."""
SUITES = 1 << 46
"""The frozen test suites: this seed for the first sentence type; the others follow."""


def training(seed: int, stage: int) -> int:
    """The seed of a training stage's episodes."""
    return 8 * seed + stage
