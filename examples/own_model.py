"""A model of your own: a sum of word vectors attends to cells. QA accuracy in a minute: 84 and 75 % (seeds 0 and 1).

cd examples
groundling train smoke --agent.method own_model:MyModel --agent.units 64 --out runs/mine
groundling evaluate runs/mine --allow-import
groundling play runs/mine --allow-import
python -c "import groundling; print(groundling.load('runs/mine', allow_import=True).model)"
"""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from groundling.agent import CELL_PIXELS, Answer, EnvSpec, Model, ModelConfig, Output, View, WordDropout, scale_pixels


@dataclass(frozen=True)
class MyConfig(ModelConfig):
    units: int = 128
    """Length of the vectors of words and cells."""
    spread_coef: float = 0.1
    """Coefficient of an auxiliary loss: 1 - the sum of squares of the attention map of a question."""


class MyModel(Model):
    Config = MyConfig
    config: MyConfig

    def __init__(self, config: MyConfig, spec: EnvSpec) -> None:
        super().__init__(config, spec)
        self.words = nn.Embedding(spec.words + 1, config.units, padding_idx=spec.pad)
        self.cells = nn.Sequential(nn.Flatten(), nn.Linear(3 * CELL_PIXELS**2, config.units), nn.ReLU())
        self.positions = nn.Parameter(torch.zeros(spec.positions, config.units))
        self.planner = nn.Sequential(nn.Linear(spec.positions, 64), nn.ReLU(), nn.Linear(64, spec.actions + 1))
        self.to_mask, self.to_word = nn.Linear(config.units, config.units), nn.Linear(config.units, spec.words)

    def perceive(self, view: View) -> Tensor:  # [B, N, units]
        return F.embedding(view.cells, self.cells(scale_pixels(self.config, view.pictures))) + self.positions

    def attend(self, seen: Tensor, sentences: Tensor) -> tuple[Tensor, Tensor]:  # [B, N] and [B, units]
        sentence = self.words(sentences).sum(1)
        return F.softmax((seen @ sentence[:, :, None])[:, :, 0] / self.config.units**0.5, dim=1), sentence

    def navigate(self, seen: Tensor, commands: Tensor) -> tuple[Tensor, Tensor]:
        planned = self.planner(self.attend(seen, commands)[0])
        return planned[:, :-1], planned[:, -1]  # action logits and value

    def answer(self, seen: Tensor, questions: Tensor, word_dropout: WordDropout | None = None) -> Answer:
        x_loc, sentence = self.attend(seen, questions)
        return Answer(self.to_word((x_loc[:, None] @ seen)[:, 0] * self.to_mask(sentence)), extra=x_loc)

    def parameter_groups(self) -> dict[str, list[nn.Parameter]]:
        return {"planner": [*self.planner.parameters()]}  # with the learning rate ppo.planner_lr

    def auxiliary_losses(self, output: Output | Answer, answers: Tensor) -> dict[str, Tensor]:
        return {"spread_loss": self.config.spread_coef * (1 - output.extra.square().sum(1)).mean()}
