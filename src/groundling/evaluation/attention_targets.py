"""The cell that a sentence refers to: the ground truth for attention maps."""

import numpy as np

from groundling.teacher.teacher import Teacher
from groundling.teacher.types import EpisodeBatch, SentenceBatch
from groundling.world.types import Bools


def attention_targets(teacher: Teacher, episode: EpisodeBatch, sentences: SentenceBatch) -> Bools:
    """[B, N]: the cell of the agent's view, row by row, that each sentence refers to; none without a sentence."""
    size = episode.state.size
    side = 2 * size - 1
    positions = teacher.referred_positions(episode, sentences).astype(np.int64)
    agents = episode.state.agent.astype(np.int64)
    rows, columns = (
        position - agent + size - 1
        for position, agent in zip(np.divmod(positions, size), np.divmod(agents, size), strict=True)
    )
    seen = np.zeros((len(positions), side * side), np.bool_)
    known = np.flatnonzero(positions >= 0)
    seen[known, (rows * side + columns)[known]] = True
    return seen
