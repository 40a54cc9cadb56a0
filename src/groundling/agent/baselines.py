"""The methods that the paper compares its agent with. Each differs from it where its name says, and nowhere else."""

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence

from groundling.agent.config import AgentConfig
from groundling.agent.language import ChannelMask, RecurrentReader, WordEmbeddings, average
from groundling.agent.model import AttentionModel, Model
from groundling.agent.perception import Cube, by_kind
from groundling.agent.planners import SmallInitLinear, mlp
from groundling.agent.view import View, distinct_rows


class SentenceReader(nn.Module):
    """A GRU that folds a sentence into one vector, and the channel mask made of its average state."""

    def __init__(self, config: AgentConfig, units: int) -> None:
        super().__init__()
        self.pad = config.pad
        self.rnn = RecurrentReader(config.depth, units, bidirectional=False)
        self.mask = ChannelMask(units, units, config.depth)

    def forward(self, words: WordEmbeddings, sentences: Tensor) -> tuple[Tensor, Tensor]:
        """[B, L] -> sentence vectors [B, units] and x_feat [B, D]; equal sentences are read once."""
        distinct, which = distinct_rows(sentences)
        states, last = self.rnn(words.padded(), distinct, self.pad)
        real = distinct[:, : states.shape[1]] != self.pad
        return last[which], self.mask(average(states, real))[which]


class ContextualAttention(AttentionModel):
    """CA: the sentence becomes a 3 x 3 filter, whose convolution with h is the attention map."""

    attention_mechanism = "a 3 x 3 filter made of the whole sentence"

    def __init__(self, config: AgentConfig) -> None:
        super().__init__(config)
        units = 4 * config.units  # 512 in the paper
        self.reader = SentenceReader(config, units)
        self.filter = nn.Linear(units, 9 * config.depth)
        # Score k of a place counts for the place that has it as its k-th neighbor.
        self.register_buffer("neighbors", torch.eye(9).reshape(1, 9, 3, 3), persistent=False)

    def attend(self, cube: Cube, sentences: Tensor) -> tuple[Tensor, Tensor]:
        vector, x_feat = self.reader(self.words, sentences)
        side = self.config.view
        filters = self.filter(vector).reshape(len(sentences), 9, self.config.depth)
        # Unscaled, so many products saturate the softmax within a hundred updates of Adam, and little is learned after.
        scores = cube.detect(filters / math.sqrt(self.config.depth)).reshape(-1, 9, side, side)
        neighbors: Tensor = self.get_buffer("neighbors")
        return F.softmax(F.conv2d(scores, neighbors, padding=1).flatten(1), dim=1), x_feat


class StackedAttentionNet(AttentionModel):
    """SAN: two layers of attention, each asking anew with what the one before found (Yang et al., 2016)."""

    attention_mechanism = "two layers of stacked attention"
    LAYERS = 2

    def __init__(self, config: AgentConfig) -> None:
        super().__init__(config)
        units = 2 * config.units  # 256 in the paper
        self.reader = SentenceReader(config, units)
        self.image = nn.Linear(config.depth, units)
        self.by_image = nn.ModuleList(nn.Linear(units, units, bias=False) for _ in range(self.LAYERS))
        self.by_question = nn.ModuleList(nn.Linear(units, units) for _ in range(self.LAYERS))
        self.score = nn.ModuleList(nn.Linear(units, 1) for _ in range(self.LAYERS))

    def attend(self, cube: Cube, sentences: Tensor) -> tuple[Tensor, Tensor]:
        question, x_feat = self.reader(self.words, sentences)
        h, which = cube.distinct()
        image = F.relu(self.image(h))  # v_I [P, units]
        x_loc = question.new_zeros(0)
        for by_image, by_question, score in zip(self.by_image, self.by_question, self.score, strict=True):
            joint = F.embedding(which, by_image(image))  # [B, N, units]: large, and so filled in place
            joint = joint.add_(by_question(question)[:, None]).relu_()  # h_A
            x_loc = F.softmax(score(joint)[..., 0], dim=1)  # p_I
            question = question + by_kind(x_loc, which, len(image)) @ image  # u = v~_I + u
        return x_loc, x_feat


class WholeImageModel(Model):
    """A model with no attention: the whole picture, through overlapping convolutions, becomes one vector."""

    AT_ONCE = 64

    def __init__(self, config: AgentConfig) -> None:
        super().__init__(config)
        units, pixels = 4 * config.units, config.view * config.cell  # 512 units in the paper
        self.words = WordEmbeddings(config)
        self.cnn = nn.Sequential(
            nn.Conv2d(3, 64, 3, stride=2),
            nn.ReLU(),
            nn.Conv2d(64, 64, 3, stride=2),
            nn.ReLU(),
            nn.Conv2d(64, 128, 3, stride=2),
            nn.ReLU(),
            nn.Conv2d(128, 128, 3, stride=1),
            nn.ReLU(),
            nn.Flatten(),
        )
        for kernel_stride in (2, 2, 2, 1):
            pixels = (pixels - 3) // kernel_stride + 1
        self.project = nn.Sequential(*mlp(128 * pixels**2, config.depth))
        self.rnn = nn.LSTM(config.depth, units, batch_first=True)
        self.to_move = nn.Sequential(*mlp(self.joint(config), units, units, units))
        self.to_answer = nn.Sequential(*mlp(self.joint(config), units, units, units))
        self.action = SmallInitLinear(units, config.actions)
        self.critic = nn.Linear(units, 1)
        self.word = nn.Linear(units, config.words)

    def joint(self, config: AgentConfig) -> int:
        """The length of the vector in which picture and sentence meet."""
        raise NotImplementedError

    def mix(self, seen: Tensor, sentences: Tensor) -> Tensor:
        """M(RNN(s), CNN(e)), Eq. 1: [B, depth], [B, L] -> [B, joint]"""
        raise NotImplementedError

    def perceive(self, view: View) -> Tensor:
        # Some pictures at a time, because what the first layer makes of a thousand takes gigabytes.
        return torch.cat([self._look(images) for images in view.images().split(self.AT_ONCE)])

    def _look(self, images: Tensor) -> Tensor:
        """[B, 3, H, W] -> [B, depth]"""
        # With the channels last in memory, a CPU's convolutions take two thirds of the time.
        scaled = self.config.scaled(images).contiguous(memory_format=torch.channels_last)
        projected: Tensor = self.project(self.cnn(scaled))
        return projected

    def navigate(self, seen: Tensor, commands: Tensor) -> tuple[Tensor, Tensor]:
        features = self.to_move(self.mix(seen, commands))
        return self.action(features), self.critic(features)[:, 0]

    def answer(self, seen: Tensor, questions: Tensor) -> Tensor:
        scores: Tensor = self.word(self.to_answer(self.mix(seen, questions)))
        return scores

    def last_state(self, inputs: Tensor, lengths: Tensor) -> Tensor:
        """The LSTM's state behind the last real input: [B, L, depth], [B] -> [B, units]"""
        packed = pack_padded_sequence(inputs, lengths.cpu(), batch_first=True, enforce_sorted=False)
        _, (state, _) = self.rnn(packed)
        last: Tensor = state[0]
        return last


class VisLSTM(WholeImageModel):
    """VL: the picture is the first word of the sentence (Ren et al., 2015)."""

    def joint(self, config: AgentConfig) -> int:
        return 4 * config.units

    def mix(self, seen: Tensor, sentences: Tensor) -> Tensor:
        inputs = torch.cat([seen[:, None], self.words.padded()[sentences]], dim=1)
        return self.last_state(inputs, 1 + (sentences != self.config.pad).sum(1))


class ConcatEmbed(WholeImageModel):
    """CE: picture and sentence are put side by side (Mao et al., 2015)."""

    def joint(self, config: AgentConfig) -> int:
        return 4 * config.units + config.depth

    def mix(self, seen: Tensor, sentences: Tensor) -> Tensor:
        lengths = (sentences != self.config.pad).sum(1).clamp(min=1)
        return torch.cat([self.last_state(self.words.padded()[sentences], lengths), seen], dim=1)
