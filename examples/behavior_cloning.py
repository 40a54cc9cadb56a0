"""Behavior cloning: a model learns moves and answers from a Minari dataset of oracle episodes, without any reward.

groundling export minari groundling/navqa/oracle-v0 --episodes 20000
python examples/behavior_cloning.py groundling/navqa/oracle-v0
"""

import minari
import numpy as np
import torch
import torch.nn.functional as F
import tyro
from torch import Tensor

from groundling.agent import View, build
from groundling.evaluation.evaluator import Evaluator
from groundling.learn.presets import PRESETS
from groundling.teacher.teacher import Teacher
from groundling.world.catalog import CELL_PIXELS


def load_steps(dataset_id: str) -> dict[str, Tensor]:
    """All steps of a dataset: cells, command, question, move and answer."""
    parts: dict[str, list[np.ndarray]] = {name: [] for name in ("cells", "command", "question", "action")}
    for episode in minari.load_dataset(dataset_id):
        for name, array in episode.observations.items():
            parts[name].append(array[:-1])  # the last one is after the last action
        parts["action"].append(episode.actions)
    return {name: torch.from_numpy(np.concatenate(arrays)) for name, arrays in parts.items()}


def main(dataset_id: str, updates: int = 3000, batch_size: int = 64, episodes: int = 1000) -> tuple[float, float]:
    """Train, then print the success rate and the QA accuracy in new episodes."""
    torch.manual_seed(0)
    steps, teacher = load_steps(dataset_id), Teacher()
    pictures = torch.from_numpy(teacher.catalog.pictures[CELL_PIXELS])
    model = build(PRESETS["fast"].agent)
    optimizer = torch.optim.Adam(model.parameters(), 1e-3)
    for update in range(updates):
        rows = torch.randint(len(steps["cells"]), (batch_size,))
        cells, command, question, action = (steps[name][rows] for name in ("cells", "command", "question", "action"))
        output = model(View.of_cells(cells, pictures), command, question)
        moves, answers = action.T
        loss = F.cross_entropy(output.action_logits, moves)
        loss = loss + F.cross_entropy(output.answer_scores, answers, ignore_index=teacher.lexicon.pad)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if update % 100 == 0:
            print(f"update {update}: loss {loss.item():.2f}")
    model.eval()
    record = Evaluator(model, teacher, greedy=True, attention=False).run(episodes, seed=1)
    print(f"success rate {record.success.mean():.1%}, QA accuracy {record.correct.mean():.1%}")
    return float(record.success.mean()), float(record.correct.mean())


if __name__ == "__main__":
    tyro.cli(main)
