"""The interface of all models, and the paper's model."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence

from groundling.agent.config import AgentConfig, ModelConfig
from groundling.agent.grounding import Grounding, Program, detection_map, ground, predict
from groundling.agent.language import Interpreter, WordDropout, WordEmbeddings, reading_loss
from groundling.agent.perception import Cube, Perception
from groundling.agent.planners import Decision, Terrain, ValueIterationPlanner, build_planner
from groundling.agent.types import Answer, EnvSpec, Output
from groundling.agent.view import View, distinct_rows


class Model(nn.Module, ABC):
    """A model perceives a view once, then navigates by commands and answers questions on what it perceived.

    A model of your own needs a constructor of (Config, EnvSpec) and the three abstract methods. Checkpoints build it a
    first time without memory for its tensors, to know their shapes: the constructor must not read values of tensors.
    """

    Config: ClassVar[type[ModelConfig]] = AgentConfig
    """The dataclass of its hyperparameters, which the command line parses and a checkpoint stores."""
    config: ModelConfig
    has_answer_head = True
    """Whether it answers questions."""
    supports_word_dropout = False
    """Whether it has an interpreter whose input words can be dropped in training."""
    attention_mechanism = "none"
    """How it attends to positions, in a few words."""

    @property
    def any_size(self) -> bool:
        """Whether the same weights serve maps of all sizes."""
        return False

    def __init__(self, config: ModelConfig, spec: EnvSpec) -> None:
        super().__init__()
        self.config, self.spec = config, spec

    @abstractmethod
    def perceive(self, view: View) -> Any:
        """What the model needs of the images, for both uses of language."""

    @abstractmethod
    def navigate(self, seen: Any, commands: Tensor) -> tuple[Tensor, Tensor]:
        """Commands [B, L] -> action logits [B, actions] and values [B]"""

    @abstractmethod
    def answer(self, seen: Any, questions: Tensor, word_dropout: WordDropout | None = None) -> Answer:
        """Questions [B, L] -> a score for each word [B, words]"""

    def forward(
        self, view: View, commands: Tensor, questions: Tensor | None = None, word_dropout: WordDropout | None = None
    ) -> Output:
        """Commands and questions [B, L] about the same images. A row of padding is no question: ignore its answer."""
        seen = self.perceive(view)
        if questions is None or not self.has_answer_head:
            return Output(*self.navigate(seen, commands), None)
        answer = self.answer(seen, questions, word_dropout)
        return Output(*self.navigate(seen, commands), answer.scores, extra=answer.extra)

    def parameter_groups(self) -> dict[str, list[nn.Parameter]]:
        """Disjoint groups of parameters for which training has settings of their own; all others are `default`.

        `word_embeddings`: `word_weight_decay`; `reader_input`: `reader_weight_decay`; `planner`: `ppo.planner_lr`;
        `sharpness`: `ppo.sharpness_lr`.
        """
        return {}

    def auxiliary_losses(self, output: Output | Answer, answers: Tensor) -> dict[str, Tensor]:
        """Losses by names of their own, which training adds to its own.

        `gate_loss` and `reading_loss` are multiplied by coefficients of the training config, others are not.

        output: an Answer in the stage qa_pretraining, otherwise an Output; answers [B]: the true ones, -1 for no
        question.
        """
        return {}

    def word_attention(self, sentences: Tensor) -> Tensor | None:
        """[B, I, L]: how much each interpretation step attends to each word; None for a model without an interpreter"""
        return None

    def detect_words(self, view: View, words: Tensor) -> Tensor | None:
        """[B, N]: phi, the detection scores of one word per image [B]; None for a model without an interpreter"""
        return None

    def add_answer_words(self, answered: Tensor) -> None:
        """Tell the model which words [words] were answers so far; a model without use for it ignores it."""

    def tokens(self, sentences: Sequence[Sequence[int]]) -> Tensor:
        """[B, L]: sentences of tokens, padded to the length of the longest"""
        rows = [torch.tensor(sentence) for sentence in sentences]
        padded = pad_sequence(rows, batch_first=True, padding_value=self.spec.pad)
        return padded.to(next(self.parameters()).device)

    def explain(self, image: NDArray[np.uint8], sentence: Sequence[int]) -> dict[str, NDArray[np.float32]]:
        """The intermediate values for one image [H, W, 3] and the tokens of one sentence, as named arrays."""
        return self.explain_batch([image], [sentence])[0]

    def explain_batch(
        self, images: Sequence[NDArray[np.uint8]], sentences: Sequence[Sequence[int]]
    ) -> list[dict[str, NDArray[np.float32]]]:
        """The same for many images, each with its sentence, in one batch."""
        device, pad = next(self.parameters()).device, self.spec.pad
        view = View.of_images(torch.as_tensor(np.stack(images), device=device))
        words = [[int(token) for token in sentence if token != pad] for sentence in sentences]
        with torch.inference_mode():
            found = self.intermediates(view, self.tokens(words))
        arrays = {name: value.float().cpu().numpy() for name, value in found.items()}
        explained = [{name: np.asarray(value[b]) for name, value in arrays.items()} for b in range(len(words))]
        for row, own in zip(words, explained, strict=True):
            if "word_attention" in own:
                own["word_attention"] = own["word_attention"][:, : len(row)]
        return explained

    def intermediates(self, view: View, sentences: Tensor) -> dict[str, Tensor]:
        """The intermediate values that `explain` returns, each [B, ...]; a model adds its own."""
        seen = self.perceive(view)
        logits, value = self.navigate(seen, sentences)
        intermediates = {"action_probabilities": F.softmax(logits, dim=1), "value": value}
        if self.has_answer_head:
            intermediates["answer_scores"] = self.answer(seen, sentences).scores
        return intermediates


class Attention(NamedTuple):
    """The only link from language to the rest of an AttentionModel."""

    x_loc: Tensor
    """[B, N]: attention map"""
    x_feat: Tensor
    """[B, D]: channel mask"""
    program: Program | None = None
    """The interpreter's programs of the distinct sentences; None without an interpreter"""


class AttentionModel(Model):
    """A model whose only link from language to the rest is an attention map x_loc and a channel mask x_feat."""

    config: AgentConfig

    def __init__(self, config: AgentConfig, spec: EnvSpec) -> None:
        super().__init__(config, spec)
        self.perception = Perception(config, spec)
        self.words = WordEmbeddings(config, spec)
        self.terrain = Terrain(config)
        self.planner = build_planner(config, spec)

    def parameter_groups(self) -> dict[str, list[nn.Parameter]]:
        return {
            "word_embeddings": [self.words.table],
            "planner": [*self.terrain.parameters(), *self.planner.parameters()],
        }

    def perceive(self, view: View) -> Cube:
        if not self.any_size:
            view.check_side(self.spec.view)
        cube: Cube = self.perception(view)
        return cube

    @abstractmethod
    def attend(self, cube: Cube, sentences: Tensor, word_dropout: WordDropout | None = None) -> Attention:
        """Sentences [B, L] -> the attention on each image"""

    def decide(self, cube: Cube, x_loc: Tensor) -> Decision:
        """A(M_A(x_loc, h))"""
        return self.plan(x_loc, self.terrain(cube))

    def plan(self, x_loc: Tensor, x_terr: Tensor) -> Decision:
        """A(M_A(x_loc, x_terr))"""
        decision: Decision = self.planner(x_loc, x_terr.detach() if self.config.supervised_terrain else x_terr)
        return decision

    def forward(
        self, view: View, commands: Tensor, questions: Tensor | None = None, word_dropout: WordDropout | None = None
    ) -> Output:
        """As Model.forward; commands and questions are read and grounded in one batch."""
        cube = self.perceive(view)
        if questions is None or not self.has_answer_head:
            attention = self.attend(cube, commands, word_dropout)
            x_loc, x_loc_question, scores = attention.x_loc, None, None
        else:
            twice = Cube(cube.features, cube.positions, cube.cells.repeat(2, 1))
            attention = self.attend(twice, torch.cat([commands, questions]), word_dropout)
            x_loc, x_loc_question = attention.x_loc.chunk(2)
            scores = predict(cube, x_loc_question, attention.x_feat.chunk(2)[1], self.words.table)
        x_terr = self.terrain(cube)
        decision = self.plan(x_loc, x_terr)
        return Output(decision.logits, decision.value, scores, x_loc, x_loc_question, x_terr, attention.program)

    def navigate(self, seen: Cube, commands: Tensor) -> tuple[Tensor, Tensor]:
        decision = self.decide(seen, self.attend(seen, commands).x_loc)
        return decision.logits, decision.value

    def answer(self, seen: Cube, questions: Tensor, word_dropout: WordDropout | None = None) -> Answer:
        attention = self.attend(seen, questions, word_dropout)
        return Answer(predict(seen, attention.x_loc, attention.x_feat, self.words.table), attention.program)

    def word_detections(self, view: View) -> Tensor:
        """[B, words, N]: softmax(phi(h, 1, u_k)), where each word of the lexicon is detected"""
        cube = self.perceive(view)
        scores = cube.detect(self.words.table.expand(len(view.cells), -1, -1))
        return detection_map(scores, self.config.detection_bound, self.spec.positions)

    def answer_at(self, view: View, position: int, questions: Tensor) -> Tensor:
        """[B, words]: the answer scores if each question referred to one position, whatever it really refers to"""
        cube = self.perceive(view)
        x_feat = self.attend(cube, questions).x_feat
        x_loc = F.one_hot(torch.tensor(position, device=questions.device), cube.cells.shape[1]).to(x_feat.dtype)
        return predict(cube, x_loc.expand(len(questions), -1), x_feat, self.words.table)

    def intermediates(self, view: View, sentences: Tensor) -> dict[str, Tensor]:
        cube = self.perceive(view)
        attention = self.attend(cube, sentences)
        return self.intermediates_after(cube, attention.x_loc, attention.x_feat)

    def intermediates_after(self, cube: Cube, x_loc: Tensor, x_feat: Tensor) -> dict[str, Tensor]:
        """The attention and everything computed from it."""
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
        if self.has_answer_head:
            intermediates["answer_scores"] = predict(cube, x_loc, x_feat, self.words.table)
        return intermediates


class InterpreterModel(AttentionModel):
    """The paper's model: the interpreter turns a sentence into a program, which is executed on the image."""

    supports_word_dropout = True
    attention_mechanism = "interpreter: word detection and 2D convolution, step by step"

    def __init__(self, config: AgentConfig, spec: EnvSpec) -> None:
        super().__init__(config, spec)
        self.interpreter = Interpreter(config, spec, masks=self.has_answer_head)

    @property
    def any_size(self) -> bool:
        return isinstance(self.planner, ValueIterationPlanner)

    def parameter_groups(self) -> dict[str, list[nn.Parameter]]:
        groups = super().parameter_groups()
        groups["reader_input"] = [self.interpreter.rnn.weight_in]
        if self.interpreter.log_sharpness is not None:  # a single number that has to change a lot
            groups["sharpness"] = [self.interpreter.log_sharpness]
        return groups

    def auxiliary_losses(self, output: Output | Answer, answers: Tensor) -> dict[str, Tensor]:
        program: Program = output.extra
        return {
            "gate_loss": program.gates.mean(),
            "reading_loss": reading_loss(program.attention, program.tokens, self.spec.pad),
        }

    def read(self, sentences: Tensor) -> Program:
        """Sentences [B, L] -> their programs; equal sentences are read once."""
        distinct, which = distinct_rows(sentences)
        program: Program = self.interpreter(self.words, distinct)
        return program.select(which)

    def word_attention(self, sentences: Tensor) -> Tensor:
        return self.read(sentences).attention

    def detect_words(self, view: View, words: Tensor) -> Tensor:
        return self.perceive(view).detect_each(self.words.table, words[:, None])[:, 0]

    def add_answer_words(self, answered: Tensor) -> None:
        if self.words.answered is not None:
            self.words.answered.copy_(torch.maximum(self.words.answered, answered.to(self.words.answered)))

    def ground(self, program: Program, cube: Cube) -> Grounding:
        """Execute programs on images."""
        table = self.words.padded() if self.config.word_detection == "per_word" else None
        return ground(program, cube, table, self.config.detection_bound, self.spec.positions)

    def attend(self, cube: Cube, sentences: Tensor, word_dropout: WordDropout | None = None) -> Attention:
        distinct, which = distinct_rows(sentences)
        distinct_program: Program = self.interpreter(self.words, distinct, word_dropout)
        program = distinct_program.select(which)
        return Attention(self.ground(program, cube).x_loc, program.x_feat, distinct_program)

    def intermediates(self, view: View, sentences: Tensor) -> dict[str, Tensor]:
        cube, program = self.perceive(view), self.read(sentences)
        grounding = self.ground(program, cube)
        return {
            "word_attention": program.attention,
            "attended_words": program.words,
            "gates": program.gates,
            "detections": grounding.detections,
            "x_loc_steps": grounding.x_loc_steps,
            **self.intermediates_after(cube, grounding.x_loc, program.x_feat),
        }


class NavOnlyModel(InterpreterModel):
    """NAVA: the paper's model trained without questions, an ablation."""

    has_answer_head = False

    def add_answer_words(self, answered: Tensor) -> None:
        """It is never told an answer."""
