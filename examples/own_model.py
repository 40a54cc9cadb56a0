"""A model of your own, trained on questions for half a minute.

The whole sentence is encoded as one vector, and x_loc is where that vector is detected. This is enough to answer "What
color does the apple have?" and "What is the color of the object in the east?".

    python examples/own_model.py
"""

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from groundling.agent import MODELS, AgentConfig, EnvSpec, build
from groundling.agent.baselines import SentenceReader
from groundling.agent.language import WordDropout
from groundling.agent.model import Attention, AttentionModel
from groundling.agent.perception import Cube
from groundling.rollout import Frames
from groundling.teacher.teacher import Teacher
from groundling.teacher.types import SamplingConfig
from groundling.world.catalog import CELL_PIXELS


class SingleStepAttention(AttentionModel):
    attention_mechanism = "one vector computed from the whole sentence"

    def __init__(self, config: AgentConfig, spec: EnvSpec) -> None:
        super().__init__(config, spec)
        self.reader = SentenceReader(config, spec, config.hidden_units)
        self.detector = nn.Linear(config.hidden_units, config.depth)

    def attend(self, cube: Cube, sentences: Tensor, word_dropout: WordDropout | None = None) -> Attention:
        vector, x_feat = self.reader(self.words, sentences)
        return Attention(F.softmax(cube.detect(self.detector(vector)[:, None])[:, 0], dim=1), x_feat)


MODELS["single_step"] = SingleStepAttention


def main(updates: int = 500, batch_size: int = 128) -> float:
    """Train on two question types; return the QA accuracy of the last tenth of the updates."""
    torch.manual_seed(0)
    teacher = Teacher(sampling=SamplingConfig(type_balanced_fraction=1.0, types=("rec_loc2col", "rec_obj2col")))
    pictures = torch.from_numpy(teacher.catalog.pictures[CELL_PIXELS])
    model = build(AgentConfig(method="single_step", init="he"))
    optimizer = torch.optim.Adam(model.parameters(), 1e-3)
    accuracy = []
    for update in range(updates):
        frames = Frames.of(teacher.begin(seed=0, index=np.arange(update * batch_size, (update + 1) * batch_size)))
        scores = model.answer(model.perceive(frames.view(pictures)), frames.questions).scores
        optimizer.zero_grad()
        F.cross_entropy(scores, frames.answers).backward()
        optimizer.step()
        accuracy.append((scores.argmax(1) == frames.answers).float().mean().item())
    return float(np.mean(accuracy[-updates // 10 :]))


if __name__ == "__main__":
    print(f"QA accuracy in the last updates: {main():.0%}")
