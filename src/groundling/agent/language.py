"""L: the language module. A bidirectional GRU reads a sentence; the interpreter turns it into a program.

It never sees the image, so each distinct sentence of a batch is read only once.
"""

import math

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from groundling.agent.config import AgentConfig
from groundling.agent.grounding import Program
from groundling.agent.types import EnvSpec

INITIAL_GATE_BIAS = -4.0
"""A gate starts at sigma(-4) = 0.02: each step keeps the previous map, so that simple sentences are learned first."""
NEGATIVE_GATE_SLOPE = 0.1
"""How much less a negative cosine counts, so that a closed gate can open again."""
MAX_COVERED = 0.99
"""A covered word keeps a hundredth of its attention, so that a sentence of one word can be read in several steps."""


class WordEmbeddings(nn.Module):
    """The word embeddings: u_k is the detector of word k, for grounding and for answering alike."""

    def __init__(self, config: AgentConfig, spec: EnvSpec) -> None:
        super().__init__()
        self.table = nn.Parameter(torch.randn(spec.words, config.depth))
        """u [words, D]: zero mean and unit standard deviation"""
        self.answered: Tensor | None
        """[words]: 1 for words that were an answer in training, otherwise 0; None if the config has no use for it"""
        self.register_buffer("answered", None if config.salience is None else torch.zeros(spec.words))

    def padded(self) -> Tensor:
        """[words + 1, D]: with a zero row for padding."""
        return F.pad(self.table, (0, 0, 0, 1))


class WordDropout:
    """Replaces a fraction of the words that the interpreter reads by random embeddings, in training only.

    A random embedding has the mean and standard deviation of the word embeddings, so no held-out word is ever read.
    Detection and answers keep the true word: an agent that reads a random word for `fox` still has to detect foxes. It
    thus learns to read sentences by their structure, and can read a word that it has never seen in a sentence.

    With `answered` [words], only words that were answers so far are replaced, by embeddings like theirs. All others
    carry the structure of a sentence, so a larger fraction can be replaced.
    """

    def __init__(self, probability: float, rng: np.random.Generator, answered: Tensor | None = None) -> None:
        self.probability, self.rng, self.answered = probability, rng, answered

    def __call__(self, table: Tensor, tokens: Tensor, pad: int) -> tuple[Tensor, Tensor]:
        """Embeddings [words + 1, D], tokens [S, L] -> the embeddings with random ones appended, and the new tokens."""
        dropped = torch.from_numpy(self.rng.random(tokens.shape) < self.probability).to(tokens.device) & (tokens != pad)
        known = table[:pad].detach()
        if self.answered is not None:
            dropped = dropped & F.pad(self.answered, (0, 1))[tokens]
            known = known[self.answered]
        count = int(dropped.sum())
        if not count or len(known) < 2:  # one embedding has no deviation
            return table, tokens
        noise = torch.from_numpy(self.rng.standard_normal((count, table.shape[1]), np.float32)).to(table.device)
        random_words = known.mean(0) + known.std(0) * noise
        numbers = torch.arange(len(table), len(table) + count, device=tokens.device)
        return torch.cat([table, random_words]), tokens.masked_scatter(dropped, numbers)


class RecurrentReader(nn.Module):
    """A GRU over word embeddings, unidirectional or bidirectional; its input products are computed once per word."""

    def __init__(self, inputs: int, units: int, bidirectional: bool = True) -> None:
        super().__init__()
        self.directions = 2 if bidirectional else 1
        bound = 1 / math.sqrt(units)
        self.weight_in = nn.Parameter(torch.empty(self.directions, inputs, 3 * units).uniform_(-bound, bound))
        self.weight_state = nn.Parameter(torch.empty(self.directions, units, 3 * units).uniform_(-bound, bound))
        self.bias_in = nn.Parameter(torch.empty(self.directions, 1, 3 * units).uniform_(-bound, bound))
        self.bias_state = nn.Parameter(torch.empty(self.directions, 1, 3 * units).uniform_(-bound, bound))
        self.skips_padding = False
        """Whether only words are computed, not padding: faster for few sentences, with other rounding."""

    def forward(self, table: Tensor, tokens: Tensor, pad: int) -> tuple[Tensor, Tensor]:
        """Embeddings [words + 1, E] and tokens [S, L] -> states [S, L, d * units] and the last ones, for d directions.

        Padding does not change the state, so the last state is the one after the last real word of each direction.
        """
        tokens = tokens[:, : _longest(tokens, pad)]
        if self.skips_padding:
            return self._read_words(table, tokens, pad)
        real = torch.stack(self._ways(tokens != pad))[..., None]  # [d, S, L, 1]
        if tokens.numel() < len(table):  # few sentences contain few of the words
            used, tokens = tokens.unique(return_inverse=True)
            table = table[used]
        product = table @ self.weight_in + self.bias_in  # [d, words + 1, 3 units]
        ways = zip(self._ways(tokens), product.unbind(), strict=True)
        inputs = torch.stack([F.embedding(way, part) for way, part in ways])  # [d, S, L, 3 units]
        state = inputs.new_zeros(self.directions, len(tokens), self.weight_state.shape[1])
        states = []
        for word, is_word in zip(inputs.unbind(2), real.unbind(2), strict=True):
            state = torch.where(is_word, self._step(word, state), state)
            states.append(state)
        run = torch.stack(states, dim=2)  # [d, S, L, units]
        forward, *backward = run.unbind()
        return torch.cat([forward, *(way.flip(1) for way in backward)], dim=-1), torch.cat(state.unbind(), dim=-1)

    def _read_words(self, table: Tensor, tokens: Tensor, pad: int) -> tuple[Tensor, Tensor]:
        """The same; sentences are sorted by length, so that step t computes only those with more than t words."""
        lengths = (tokens != pad).sum(1)
        order = lengths.argsort(descending=True)
        used, kinds = tokens[order].unique(return_inverse=True)
        product = table[used] @ self.weight_in + self.bias_in  # [d, used words, 3 units]
        step = torch.arange(tokens.shape[1], device=tokens.device)
        end = lengths[order, None]
        backward = torch.where(step < end, end - 1 - step, step)  # [S, L]: the words from last to first, then padding
        ways = (kinds, kinds.gather(1, backward))[: self.directions]
        inputs = torch.stack([F.embedding(way.T, part) for way, part in zip(ways, product.unbind(), strict=True)])
        state = inputs.new_zeros(self.directions, len(tokens), self.weight_state.shape[1])
        states = []
        for words, active in zip(inputs.unbind(1), (step < end).sum(0).tolist(), strict=True):  # words [d, S, 3 units]
            if active:
                state = torch.cat([self._step(words[:, :active], state[:, :active]), state[:, active:]], dim=1)
            states.append(state)
        run = torch.stack(states, dim=2)  # [d, S, L, units]
        parts = [run[0], *(part.gather(1, backward[..., None].expand_as(part)) for part in run[1:])]
        back = order.argsort()
        return torch.cat(parts, dim=-1)[back], torch.cat(state.unbind(), dim=-1)[back]

    def _ways(self, sentences: Tensor) -> tuple[Tensor, ...]:
        """[S, L] in each direction."""
        return (sentences, sentences.flip(1))[: self.directions]

    def _step(self, inputs: Tensor, state: Tensor) -> Tensor:
        """GRU: [d, S, 3 units], [d, S, units] -> [d, S, units]"""
        reset_in, update_in, new_in = inputs.chunk(3, dim=-1)
        reset_state, update_state, new_state = torch.baddbmm(self.bias_state, state, self.weight_state).chunk(3, dim=-1)
        update = torch.sigmoid(update_in + update_state)
        new = torch.tanh(new_in + torch.sigmoid(reset_in + reset_state) * new_state)
        return torch.lerp(new, state, update)


class Interpreter(nn.Module):
    """tau*: attends to I words of a sentence one after the other (Eq. 6), and masks the channels (Eq. 8)."""

    def __init__(self, config: AgentConfig, spec: EnvSpec, masks: bool = True) -> None:
        """`masks`: whether channels are masked, which only answers need."""
        super().__init__()
        units = config.hidden_units
        self.steps, self.pad, self.coverage = config.interpreter_steps, spec.pad, config.coverage
        self.rnn = RecurrentReader(config.depth, units)
        self.context = nn.Linear(2 * units, units)
        self.sentence = nn.Linear(2 * units, units)
        self.state = nn.GRUCell(units, units)
        self.gate = Gate(units, config.gate_bound)
        self.mask = ChannelMask(2 * units, units, config.depth) if masks else None
        self.log_temperature = (
            None if config.temperature is None else nn.Parameter(torch.tensor(config.temperature).log())
        )
        self.salience = None if config.salience is None else Salience(config.salience, spec.words)
        self.log_sharpness = None if config.sharpness is None else nn.Parameter(torch.tensor(config.sharpness).log())

    def forward(self, words: WordEmbeddings, tokens: Tensor, word_dropout: WordDropout | None = None) -> Program:
        """tokens [S, L] -> the program of each sentence"""
        table = words.padded()
        states, last = self.read(table, tokens, word_dropout)
        tokens = tokens[:, : states.shape[1]]
        real = tokens != self.pad
        # A row of padding attends to its padding, because a softmax over no word is undefined.
        real = real | ~real.any(1, keepdim=True)
        contexts = torch.tanh(self.context(states))  # w-bar_l [S, L, units]
        p = torch.tanh(self.sentence(last))  # p^0 = s_emb
        scale = 1.0 if self.log_temperature is None else self.log_temperature.exp()
        salience = contexts.new_zeros(())
        if self.salience is not None and words.answered is not None:
            salience = F.pad(self.salience(words.answered), (0, 1))[tokens]  # [S, L]
        attention, gates = [], []
        covered = contexts.new_zeros(tokens.shape)  # how much each word has changed the map so far
        for _ in range(self.steps):
            cosine = F.cosine_similarity(p[:, None], contexts, dim=-1)  # S_cos(p^{i-1}, w-bar_l)
            logits = scale * cosine + salience + torch.log1p(-covered.clamp(max=MAX_COVERED))
            o = F.softmax(logits.masked_fill(~real, -math.inf), dim=1)  # o^i [S, L]
            attended = (o[:, None] @ contexts)[:, 0]  # w-bar^i
            p = self.state(attended, p)  # p^i = GRU(p^{i-1}, w-bar^i)
            rho = self.gate(p)
            attention.append(o)
            gates.append(rho)
            if self.coverage:  # the most attended word is covered by rho, others in proportion
                covered = torch.maximum(covered, rho[:, None] * o / o.amax(1, keepdim=True))
        o = torch.stack(attention, 1)
        return Program(
            attention=o,
            tokens=tokens,
            words=self._attended_words(o, tokens, table),
            gates=torch.stack(gates, 1),
            x_feat=self.mask(average(states, real)) if self.mask else table.new_ones(len(tokens), table.shape[1]),
            sharpness=None if self.log_sharpness is None else self.log_sharpness.exp().expand(len(tokens)),
        )

    def _attended_words(self, o: Tensor, tokens: Tensor, table: Tensor) -> Tensor:
        """s^i = sum_l o^i_l w_l: [S, I, L], [S, L], [words + 1, D] -> [S, I, D]"""
        if self.rnn.skips_padding:  # few sentences contain few of the words
            return o @ F.embedding(tokens, table)
        return sum_by_word(o, tokens, len(table)) @ table

    def read(self, table: Tensor, tokens: Tensor, word_dropout: WordDropout | None = None) -> tuple[Tensor, Tensor]:
        """The GRU's states [S, L, 2 units] and last states [S, 2 units] for tokens [S, L]"""
        if word_dropout is not None:
            table, tokens = word_dropout(table, tokens, self.pad)
        states, last = self.rnn(table, tokens, self.pad)
        return states, last

    def contexts(self, words: WordEmbeddings, tokens: Tensor) -> Tensor:
        """w-bar [S, L, units]: the context vector of each word"""
        states, _ = self.read(words.padded(), tokens)
        return torch.tanh(self.context(states))


class Salience(nn.Module):
    """How much attention a word gets in any context, added to the logits of the word attention.

    Words that were answers name something that can be seen. They share one value, so a word that was only an answer so
    far is read like all others when it first occurs in a sentence. Every other word has a value of its own.
    """

    SCALE = 10.0
    """Adam moves all parameters at the same speed; these have to change by several units."""

    def __init__(self, answers: float, words: int) -> None:
        super().__init__()
        self.answers = nn.Parameter(torch.tensor(answers / self.SCALE))
        self.others = nn.Parameter(torch.zeros(words))

    def forward(self, answered: Tensor) -> Tensor:
        """[words]: of each word, given which were answers [words]"""
        return self.SCALE * torch.lerp(self.others, self.answers.expand_as(self.others), answered)


class Gate(nn.Linear):
    """Eq. 7: rho = sigma(W p + b). With a bound g, the logit is g cos(W, p) + b, with negative cosines scaled down.

    An unbounded gate can close for good while only simple sentences are understood; then no composition is learned.
    """

    def __init__(self, units: int, bound: float | None) -> None:
        super().__init__(units, 1)
        self.bound = bound
        if bound is not None:
            nn.init.constant_(self.bias, INITIAL_GATE_BIAS)

    def forward(self, p: Tensor) -> Tensor:
        """[S, units] -> [S]"""
        if self.bound is None:
            return torch.sigmoid(super().forward(p))[:, 0]
        cosine = F.cosine_similarity(p, self.weight, dim=1)
        return torch.sigmoid(self.bound * F.leaky_relu(cosine, NEGATIVE_GATE_SLOPE) + self.bias)


class ChannelMask(nn.Module):
    """Eq. 8: x_feat = MLP(RNN(s)), from the average state over the words of a sentence."""

    def __init__(self, inputs: int, hidden: int, depth: int) -> None:
        super().__init__()
        self.mlp = nn.Sequential(nn.Linear(inputs, hidden), nn.Tanh(), nn.Linear(hidden, depth), nn.Sigmoid())

    def forward(self, state: Tensor) -> Tensor:
        masked: Tensor = self.mlp(state)
        return masked


def sum_by_word(attention: Tensor, tokens: Tensor, words: int) -> Tensor:
    """The attention on each word of the lexicon: [S, I, L], [S, L] -> [S, I, words]"""
    where = tokens[:, None].expand_as(attention)
    return attention.new_zeros(*attention.shape[:2], words).scatter_add(2, where, attention)


def average(states: Tensor, real: Tensor) -> Tensor:
    """The mean over the real words: [S, L, units], [S, L] -> [S, units]"""
    weight = real.to(states.dtype)[:, :, None]
    return (states * weight).sum(1) / weight.sum(1).clamp(min=1)


def reading_loss(attention: Tensor, tokens: Tensor, pad: int) -> Tensor:
    """The mean frequency of attended words: attention [S, I, L] on the words of sentences [S, L].

    The frequency of a word is the fraction of the sentences that contain it. A word that most sentences contain carries
    no information, and a step that attends to it cannot be understood by people, even if it works.
    """
    said = (tokens != pad).any(1)  # without the row that stands for "no question"
    attention, tokens = attention[said], tokens[said]
    contains = attention.new_zeros(len(tokens), pad + 1).scatter(1, tokens, 1.0)
    frequency = contains.sum(0)[tokens] / max(1, len(tokens))  # [S, L]
    return (attention * frequency[:, None]).sum(2).mean() if len(tokens) else attention.sum()


def _longest(tokens: Tensor, pad: int) -> int:
    """Number of columns with a word in some sentence (at least one)."""
    return max(1, int((tokens != pad).any(0).sum()))
