"""The interface that every model has, and the agent of the paper."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence

from groundling.agent.config import AgentConfig
from groundling.agent.grounding import Grounding, Program, ground, predict
from groundling.agent.language import Interpreter, WordEmbeddings
from groundling.agent.perception import Cube, Perception
from groundling.agent.planners import Decision, Terrain, planner
from groundling.agent.view import View, distinct_rows


class Output(NamedTuple):
    """What a model does in a batch: where it goes, what that is worth, and what it answers."""

    action_logits: Tensor
    """[B, actions]"""
    value: Tensor
    """[B]"""
    answer_scores: Tensor | None
    """[B, words]; None for a model that answers no questions, or where nothing was asked"""
    x_loc: Tensor | None = None
    """[B, N]: where it looks for what the command means; None for a model without attention"""
    x_loc_asked: Tensor | None = None
    """[B, N]: the same for the question"""


class Model(nn.Module, ABC):
    """A model perceives a view once, then navigates by commands and answers questions on what it perceived.

    A model of your own needs a constructor of an AgentConfig and the three abstract methods.
    """

    answers = True
    """Whether it answers questions."""
    attention_mechanism = "nothing"
    """By what it attends to places, in a few words."""

    def __init__(self, config: AgentConfig) -> None:
        super().__init__()
        self.config = config

    @abstractmethod
    def perceive(self, view: View) -> Any:
        """What the model needs of the pictures, for both uses of language."""

    @abstractmethod
    def navigate(self, seen: Any, commands: Tensor) -> tuple[Tensor, Tensor]:
        """Commands [B, L] -> action logits [B, actions] and values [B]"""

    @abstractmethod
    def answer(self, seen: Any, questions: Tensor) -> Tensor:
        """Questions [B, L] -> a score for each word [B, words]"""

    def forward(self, view: View, commands: Tensor, questions: Tensor | None = None) -> Output:
        """Commands and questions [B, L] on the same pictures. A row of padding alone is silence: ignore its answer."""
        seen = self.perceive(view)
        scores = self.answer(seen, questions) if questions is not None and self.answers else None
        return Output(*self.navigate(seen, commands), scores)

    def tokens(self, sentences: Sequence[Sequence[int]]) -> Tensor:
        """[B, L]: sentences of word numbers, padded to the length of the longest"""
        rows = [torch.tensor(sentence) for sentence in sentences]
        padded = pad_sequence(rows, batch_first=True, padding_value=self.config.pad)
        return padded.to(next(self.parameters()).device)

    def explain(self, image: NDArray[np.uint8], sentence: Sequence[int]) -> dict[str, NDArray[np.float32]]:
        """What goes on inside for one picture [H, W, 3] and the word numbers of one sentence, as named arrays."""
        return self.explain_all([image], [sentence])[0]

    def explain_all(
        self, images: Sequence[NDArray[np.uint8]], sentences: Sequence[Sequence[int]]
    ) -> list[dict[str, NDArray[np.float32]]]:
        """The same for many pictures, each with its sentence, in one go."""
        device, pad = next(self.parameters()).device, self.config.pad
        view = View.of_images(torch.as_tensor(np.stack(images), device=device), self.config.cell)
        words = [[int(token) for token in sentence if token != pad] for sentence in sentences]
        with torch.inference_mode():
            found = self.intermediates(view, self.tokens(words))
        intermediates = {name: value.float().cpu().numpy() for name, value in found.items()}
        explained = [{name: value[b] for name, value in intermediates.items()} for b in range(len(words))]
        for row, own in zip(words, explained, strict=True):
            if "word_attention" in own:
                own["word_attention"] = own["word_attention"][:, : len(row)]
        return explained

    def intermediates(self, view: View, sentences: Tensor) -> dict[str, Tensor]:
        """The intermediate results that `explain` names; a model adds its own."""
        seen = self.perceive(view)
        logits, value = self.navigate(seen, sentences)
        intermediates = {"action_probabilities": F.softmax(logits, dim=1), "value": value}
        if self.answers:
            intermediates["answer_scores"] = self.answer(seen, sentences)
        return intermediates


class AttentionModel(Model):
    """A model whose only link from language to the rest is an attention map x_loc and a channel mask x_feat."""

    def __init__(self, config: AgentConfig) -> None:
        super().__init__(config)
        self.perception = Perception(config)
        self.words = WordEmbeddings(config)
        self.terrain = Terrain(config)
        self.planner = planner(config)

    def perceive(self, view: View) -> Cube:
        cube: Cube = self.perception(view)
        return cube

    @abstractmethod
    def attend(self, cube: Cube, sentences: Tensor) -> tuple[Tensor, Tensor]:
        """Sentences [B, L] -> x_loc [B, N] and x_feat [B, D]"""

    def decide(self, cube: Cube, x_loc: Tensor) -> Decision:
        """A(M_A(x_loc, h))"""
        decision: Decision = self.planner(x_loc, self.terrain(cube))
        return decision

    def forward(self, view: View, commands: Tensor, questions: Tensor | None = None) -> Output:
        """As Model.forward, but commands and questions are read and grounded together, in one go."""
        cube = self.perceive(view)
        if questions is None or not self.answers:
            x_loc, _ = self.attend(cube, commands)
            x_loc_asked = scores = None
        else:
            twice = Cube(cube.features, cube.positions, cube.cells.repeat(2, 1))
            both, x_feat = self.attend(twice, torch.cat([commands, questions]))
            x_loc, x_loc_asked = both.chunk(2)
            scores = predict(cube, x_loc_asked, x_feat.chunk(2)[1], self.words.table)
        decision = self.decide(cube, x_loc)
        return Output(decision.logits, decision.value, scores, x_loc, x_loc_asked)

    def navigate(self, seen: Cube, commands: Tensor) -> tuple[Tensor, Tensor]:
        decision = self.decide(seen, self.attend(seen, commands)[0])
        return decision.logits, decision.value

    def answer(self, seen: Cube, questions: Tensor) -> Tensor:
        return predict(seen, *self.attend(seen, questions), self.words.table)

    def word_detections(self, view: View) -> Tensor:
        """[B, words, N]: softmax(phi(h, 1, u_k)), where each word of the lexicon is seen"""
        cube = self.perceive(view)
        return F.softmax(cube.detect(self.words.table.expand(len(view.cells), -1, -1)), dim=-1)

    def answer_at(self, view: View, position: int, questions: Tensor) -> Tensor:
        """[B, words]: the scores of answers if each question meant one place, wherever it really points"""
        cube = self.perceive(view)
        _, x_feat = self.attend(cube, questions)
        x_loc = F.one_hot(torch.tensor(position, device=questions.device), cube.cells.shape[1]).to(x_feat.dtype)
        return predict(cube, x_loc.expand(len(questions), -1), x_feat, self.words.table)

    def intermediates(self, view: View, sentences: Tensor) -> dict[str, Tensor]:
        cube = self.perceive(view)
        return self.consequences(cube, *self.attend(cube, sentences))

    def consequences(self, cube: Cube, x_loc: Tensor, x_feat: Tensor) -> dict[str, Tensor]:
        """What follows from a grounding, as named results."""
        decision = self.decide(cube, x_loc)
        intermediates = {
            "x_loc": x_loc,
            "x_feat": x_feat,
            "x_terr": decision.x_terr,
            "action_probabilities": F.softmax(decision.logits, dim=1),
            "value": decision.value,
        }
        if decision.value_map is not None:
            intermediates["value_map"] = decision.value_map
        if self.answers:
            intermediates["answer_scores"] = predict(cube, x_loc, x_feat, self.words.table)
        return intermediates


class Agent(AttentionModel):
    """The agent of the paper: sentences are read into programs, and programs run on the picture."""

    attention_mechanism = "an interpreter: word by word, by concept detection and convolution"

    def __init__(self, config: AgentConfig) -> None:
        super().__init__(config)
        self.interpreter = Interpreter(config, masks=self.answers)

    def read(self, sentences: Tensor) -> Program:
        """Sentences [B, L] -> their programs; equal sentences are read once."""
        distinct, which = distinct_rows(sentences)
        program: Program = self.interpreter(self.words, distinct)
        return program.select(which)

    def ground(self, program: Program, cube: Cube) -> Grounding:
        """Run programs on pictures."""
        return ground(program, cube, self.words.padded() if self.config.detect == "words" else None)

    def attend(self, cube: Cube, sentences: Tensor) -> tuple[Tensor, Tensor]:
        program = self.read(sentences)
        return self.ground(program, cube).x_loc, program.x_feat

    def intermediates(self, view: View, sentences: Tensor) -> dict[str, Tensor]:
        cube, program = self.perceive(view), self.read(sentences)
        grounding = self.ground(program, cube)
        return {
            "word_attention": program.attention,
            "attended_words": program.words,
            "gates": program.gates,
            "detections": grounding.detections,
            "x_loc_steps": grounding.x_loc_steps,
            **self.consequences(cube, grounding.x_loc, program.x_feat),
        }


class NavOnlyModel(Agent):
    """NAVA: the agent without questions, the paper's ablation."""

    answers = False
