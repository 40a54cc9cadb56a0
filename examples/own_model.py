"""A model of your own, trained on questions for half a minute.

It attends in one go: the whole sentence becomes one vector, and x_loc is where that is detected. That is enough for
"What color does the apple have?" and "What is the color of the object in the east?".

    python examples/own_model.py
"""

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from groundling.agent import MODELS, AgentConfig, View, build
from groundling.agent.baselines import SentenceReader
from groundling.agent.model import AttentionModel
from groundling.agent.perception import Cube
from groundling.teacher.teacher import Lessons, Teacher
from groundling.world.rendering import view_cells


class OneLook(AttentionModel):
    attention_mechanism = "one vector made of the whole sentence"

    def __init__(self, config: AgentConfig) -> None:
        super().__init__(config)
        self.reader = SentenceReader(config, config.units)
        self.look = nn.Linear(config.units, config.depth)

    def attend(self, cube: Cube, sentences: Tensor) -> tuple[Tensor, Tensor]:
        vector, x_feat = self.reader(self.words, sentences)
        return F.softmax(cube.detect(self.look(vector)[:, None])[:, 0], dim=1), x_feat


MODELS["one_look"] = OneLook


def main(updates: int = 500) -> float:
    """The share of the last questions that it answered right."""
    torch.manual_seed(0)
    teacher = Teacher(Lessons(balanced=1.0, types=("rec_loc2col", "rec_obj2col")))
    pictures = torch.from_numpy(teacher.catalog.pictures[12])
    model = build(AgentConfig(method="one_look", init="he"))
    optimizer = torch.optim.Adam(model.parameters(), 1e-3)
    right = []
    for update in range(updates):
        episode = teacher.begin(0, np.arange(update * 128, (update + 1) * 128))
        view = View.of_cells(torch.from_numpy(view_cells(episode.state)), pictures)
        scores = model.answer(model.perceive(view), torch.from_numpy(episode.question.tokens).long())
        answers = torch.from_numpy(episode.question.answer).long()
        optimizer.zero_grad()
        F.cross_entropy(scores, answers).backward()
        optimizer.step()
        right.append((scores.argmax(1) == answers).float().mean().item())
    return float(np.mean(right[-50:]))


if __name__ == "__main__":
    print(f"{main():.0%} of the last questions were answered right")
