"""The reference implementation of the paper's model: whole images, dense convolutions, nothing shared within a batch.

The same parameters and results as `InterpreterModel`, but slow: for tests, benchmarks and export.
"""

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from groundling.agent.language import RecurrentReader
from groundling.agent.model import InterpreterModel


class ReferenceModel(nn.Module):
    """Computes with the parameters of another model: images [B, H, W, 3], commands and questions [B, L]."""

    def __init__(self, model: InterpreterModel) -> None:
        super().__init__()
        self.model = model
        self.pad = model.spec.pad

    def forward(self, images: Tensor, commands: Tensor, questions: Tensor) -> tuple[Tensor, ...]:
        """The parts of an Output, all of them"""
        h = self.cube(images)
        x_loc, _ = self.attend(h, commands)
        decision = self.model.planner(x_loc, torch.sigmoid(h @ self.model.terrain.detector))
        x_loc_question, x_feat = self.attend(h, questions)
        table = self.model.words.table
        m = torch.einsum("bn,bnd,bd,kd->bk", x_loc_question, h, x_feat, table)  # Eq. 4
        return decision.logits, decision.value, m, x_loc, x_loc_question

    def cube(self, images: Tensor) -> Tensor:
        """h [B, N, D]: the CNN on the whole image, concatenated with the parametric cube."""
        perception = self.model.perception
        config = self.model.config
        pixels = (images.permute(0, 3, 1, 2).to(perception.positions.dtype) - config.pixel_offset) / config.pixel_scale
        features = torch.relu(perception.features(perception.cnn(pixels)))  # [B, D/2, rows, columns]
        features = features.flatten(2).transpose(1, 2)
        return torch.cat([features, perception.positions.expand(images.shape[0], -1, -1)], dim=2)

    def attend(self, h: Tensor, tokens: Tensor) -> tuple[Tensor, Tensor]:
        """x_loc [B, N] and x_feat [B, D], Eqs. 6, 7 and 8 one after the other"""
        reader = self.model.interpreter
        real = tokens != self.pad
        attendable = real | ~real.any(1, keepdim=True)
        w = F.pad(self.model.words.table, (0, 0, 0, 1))[tokens]  # [B, L, D]
        states, last = self.bidirectional(reader.rnn, w, real)
        w_bar = torch.tanh(reader.context(states))
        p = torch.tanh(reader.sentence(last))
        temperature = 1.0 if reader.log_temperature is None else reader.log_temperature.exp()
        positions = h.shape[1]
        y = F.one_hot(torch.full((h.shape[0],), positions // 2, device=h.device), positions).to(h.dtype)
        x_loc = y
        for _ in range(reader.steps):
            cosine = (p[:, None] * w_bar).sum(2) / (p.norm(dim=1)[:, None] * w_bar.norm(dim=2)).clamp(min=1e-8)
            o = F.softmax((temperature * cosine).masked_fill(~attendable, -math.inf), dim=1)
            p = reader.state((o[:, :, None] * w_bar).sum(1), p)
            s = (o[:, :, None] * w).sum(1)
            if self.model.config.word_detection == "per_word":
                each = F.softmax(torch.einsum("bnd,bld->bln", h, w), dim=2)  # where each word is detected
                detected = (o[:, :, None] * each).sum(1)
            else:
                detected = F.softmax((h * s[:, None]).sum(2), dim=1)
            x_loc = self.convolve(detected, y)
            rho = reader.gate(p)[:, None]
            y = rho * x_loc + (1 - rho) * y
        if reader.log_sharpness is not None:
            power = x_loc.clamp(min=1e-6) ** reader.log_sharpness.exp()
            x_loc = power / power.sum(1, keepdim=True)
        mean = (states * real[:, :, None]).sum(1) / real.sum(1, keepdim=True).clamp(min=1)
        assert reader.mask is not None, "the reference implementation needs a model with an answer head"
        return x_loc, reader.mask(mean)

    def bidirectional(self, rnn: RecurrentReader, w: Tensor, real: Tensor) -> tuple[Tensor, Tensor]:
        """Both GRUs, word by word: states [B, L, 2 units] and the last ones [B, 2 units]"""
        both, lasts = [], []
        for d, positions in enumerate((range(w.shape[1]), reversed(range(w.shape[1])))):
            inputs = w @ rnn.weight_in[d] + rnn.bias_in[d]
            state = inputs.new_zeros(w.shape[0], rnn.weight_state.shape[1])
            states = [state] * w.shape[1]
            for position in positions:
                a, b, c = inputs[:, position].chunk(3, dim=1)
                x, y, z = (state @ rnn.weight_state[d] + rnn.bias_state[d]).chunk(3, dim=1)
                reset, update = torch.sigmoid(a + x), torch.sigmoid(b + y)
                new = (1 - update) * torch.tanh(c + reset * z) + update * state
                state = torch.where(real[:, position, None], new, state)
                states[position] = state
            both.append(torch.stack(states, dim=1))
            lasts.append(state)
        return torch.cat(both, dim=2), torch.cat(lasts, dim=1)

    def convolve(self, a: Tensor, b: Tensor) -> Tensor:
        """The 2D convolution of two centerd maps: out[n] = sum_m a[n - m] b[m], with zeros outside"""
        side = self.model.spec.view
        patches = F.unfold(a.reshape(-1, 1, side, side), side, padding=side // 2)  # [B, N offsets, N positions]
        return (patches * b.flip(1)[:, :, None]).sum(1)
