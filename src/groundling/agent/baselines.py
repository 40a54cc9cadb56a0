"""The methods that the paper compares its model with; each differs from it only in the part that it is named after."""

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence

from groundling.agent.config import AgentConfig
from groundling.agent.language import ChannelMask, RecurrentReader, WordDropout, WordEmbeddings, average
from groundling.agent.model import Attention, AttentionModel, Model
from groundling.agent.perception import Cube, scale_pixels, sum_by_kind
from groundling.agent.planners import SmallInitLinear, mlp
from groundling.agent.types import Answer, EnvSpec
from groundling.agent.view import CELL_PIXELS, View, distinct_rows


class SentenceReader(nn.Module):
    """A GRU that encodes a sentence as one vector, and the channel mask computed from its average state."""

    def __init__(self, config: AgentConfig, spec: EnvSpec, units: int) -> None:
        super().__init__()
        self.pad = spec.pad
        self.rnn = RecurrentReader(config.depth, units, bidirectional=False)
        self.mask = ChannelMask(units, units, config.depth)

    def forward(self, words: WordEmbeddings, sentences: Tensor) -> tuple[Tensor, Tensor]:
        """[B, L] -> sentence vectors [B, units] and x_feat [B, D]; equal sentences are read once."""
        distinct, which = distinct_rows(sentences)
        states, last = self.rnn(words.padded(), distinct, self.pad)
        real = distinct[:, : states.shape[1]] != self.pad
        return last[which], self.mask(average(states, real))[which]


class ContextualAttention(AttentionModel):
    """CA: the sentence is encoded as a 3 x 3 filter, whose convolution with h is the attention map."""

    attention_mechanism = "3 x 3 filter computed from the whole sentence"

    def __init__(self, config: AgentConfig, spec: EnvSpec) -> None:
        super().__init__(config, spec)
        units = 4 * config.hidden_units  # 512 in the paper
        self.reader = SentenceReader(config, spec, units)
        self.filter = nn.Linear(units, 9 * config.depth)
        # Score k of a position is added to the position that has it as its k-th neighbor.
        self.register_buffer("neighbors", torch.eye(9).reshape(1, 9, 3, 3), persistent=False)

    def attend(self, cube: Cube, sentences: Tensor, word_dropout: WordDropout | None = None) -> Attention:
        vector, x_feat = self.reader(self.words, sentences)
        side = self.spec.view
        filters = self.filter(vector).reshape(len(sentences), 9, self.config.depth)
        # Unscaled, a sum of this many products saturates the softmax within 100 updates of Adam, and learning stalls.
        scores = cube.detect(filters / math.sqrt(self.config.depth)).reshape(-1, 9, side, side)
        neighbors: Tensor = self.get_buffer("neighbors")
        return Attention(F.softmax(F.conv2d(scores, neighbors, padding=1).flatten(1), dim=1), x_feat)


class StackedAttentionNet(AttentionModel):
    """SAN: two layers of attention, each queried with the result of the one before (Yang et al., 2016)."""

    attention_mechanism = "two layers of stacked attention"
    LAYERS = 2

    def __init__(self, config: AgentConfig, spec: EnvSpec) -> None:
        super().__init__(config, spec)
        units = 2 * config.hidden_units  # 256 in the paper
        self.reader = SentenceReader(config, spec, units)
        self.image = nn.Linear(config.depth, units)
        self.by_image = nn.ModuleList(nn.Linear(units, units, bias=False) for _ in range(self.LAYERS))
        self.by_question = nn.ModuleList(nn.Linear(units, units) for _ in range(self.LAYERS))
        self.score = nn.ModuleList(nn.Linear(units, 1) for _ in range(self.LAYERS))

    def attend(self, cube: Cube, sentences: Tensor, word_dropout: WordDropout | None = None) -> Attention:
        question, x_feat = self.reader(self.words, sentences)
        h, which = cube.distinct()
        image = F.relu(self.image(h))  # v_I [P, units]
        x_loc = question.new_zeros(0)
        for by_image, by_question, score in zip(self.by_image, self.by_question, self.score, strict=True):
            joint = F.embedding(which, by_image(image))  # [B, N, units]: large, so it is modified in place
            joint = joint.add_(by_question(question)[:, None]).relu_()  # h_A
            x_loc = F.softmax(score(joint)[..., 0], dim=1)  # p_I
            question = question + sum_by_kind(x_loc, which, len(image)) @ image  # u = v~_I + u
        return Attention(x_loc, x_feat)


class WholeImageModel(Model):
    """A model without attention: overlapping convolutions encode the whole image as one vector."""

    config: AgentConfig
    CHUNK = 64

    def __init__(self, config: AgentConfig, spec: EnvSpec) -> None:
        super().__init__(config, spec)
        units, pixels = 4 * config.hidden_units, spec.view * CELL_PIXELS  # 512 units in the paper
        self.words = WordEmbeddings(config, spec)
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
        self.action = SmallInitLinear(units, spec.actions)
        self.critic = nn.Linear(units, 1)
        self.word = nn.Linear(units, spec.words)

    def joint(self, config: AgentConfig) -> int:
        """The length of the joint vector of image and sentence."""
        raise NotImplementedError

    def mix(self, seen: Tensor, sentences: Tensor) -> Tensor:
        """M(RNN(s), CNN(e)), Eq. 1: [B, depth], [B, L] -> [B, joint]"""
        raise NotImplementedError

    def perceive(self, view: View) -> Tensor:
        view.check_side(self.spec.view)
        # In chunks, because the first layer's output for a thousand images takes gigabytes.
        return torch.cat([self._encode(images) for images in view.images().split(self.CHUNK)])

    def _encode(self, images: Tensor) -> Tensor:
        """[B, 3, H, W] -> [B, depth]"""
        # With channels last in memory, convolutions on a CPU take two thirds of the time.
        scaled = scale_pixels(self.config, images).contiguous(memory_format=torch.channels_last)
        projected: Tensor = self.project(self.cnn(scaled))
        return projected

    def navigate(self, seen: Tensor, commands: Tensor) -> tuple[Tensor, Tensor]:
        features = self.to_move(self.mix(seen, commands))
        return self.action(features), self.critic(features)[:, 0]

    def answer(self, seen: Tensor, questions: Tensor, word_dropout: WordDropout | None = None) -> Answer:
        return Answer(self.word(self.to_answer(self.mix(seen, questions))))

    def parameter_groups(self) -> dict[str, list[nn.Parameter]]:
        return {"word_embeddings": [self.words.table]}

    def last_state(self, inputs: Tensor, lengths: Tensor) -> Tensor:
        """The LSTM's state after the last real input: [B, L, depth], [B] -> [B, units]"""
        packed = pack_padded_sequence(inputs, lengths.cpu(), batch_first=True, enforce_sorted=False)
        _, (state, _) = self.rnn(packed)
        last: Tensor = state[0]
        return last


class VisLSTM(WholeImageModel):
    """VL: the image is the first word of the sentence (Ren et al., 2015)."""

    def joint(self, config: AgentConfig) -> int:
        return 4 * config.hidden_units

    def mix(self, seen: Tensor, sentences: Tensor) -> Tensor:
        inputs = torch.cat([seen[:, None], self.words.padded()[sentences]], dim=1)
        return self.last_state(inputs, 1 + (sentences != self.spec.pad).sum(1))


class ConcatEmbed(WholeImageModel):
    """CE: image and sentence vectors are concatenated (Mao et al., 2015)."""

    def joint(self, config: AgentConfig) -> int:
        return 4 * config.hidden_units + config.depth

    def mix(self, seen: Tensor, sentences: Tensor) -> Tensor:
        lengths = (sentences != self.spec.pad).sum(1).clamp(min=1)
        return torch.cat([self.last_state(self.words.padded()[sentences], lengths), seen], dim=1)
