"""The reference implementation of the paper's model: whole images, dense convolutions, nothing shared within a batch.

The same parameters and results as `InterpreterModel`, but slow: for tests, benchmarks and export.
"""

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from groundling.agent.grounding import SLOPE_ABOVE_BOUND
from groundling.agent.language import MAX_COVERED, NEGATIVE_GATE_SLOPE, Gate, RecurrentReader
from groundling.agent.model import InterpreterModel
from groundling.agent.planners import GOAL_EXPONENT, OBSTACLE_EXPONENT, MLPPlanner


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
        x_terr = torch.sigmoid(h @ self.model.terrain.detector)
        logits, value = self.plan(x_loc, x_terr)
        x_loc_question, x_feat = self.attend(h, questions)
        table = self.model.words.table
        m = torch.einsum("bn,bnd,bd,kd->bk", x_loc_question, h, x_feat, table)  # Eq. 4
        return logits, value, m, x_loc, x_loc_question, x_terr

    def cube(self, images: Tensor) -> Tensor:
        """h [B, N, D]: the CNN on the whole image, concatenated with the parametric cube."""
        perception = self.model.perception
        config = self.model.config
        pixels = (images.permute(0, 3, 1, 2).to(perception.positions.dtype) - config.pixel_offset) / config.pixel_scale
        features = torch.relu(perception.features(perception.cnn(pixels)))  # [B, D/2, rows, columns]
        features = features.flatten(2).transpose(1, 2)
        positions = perception.positions_of(math.isqrt(features.shape[1]))
        return torch.cat([features, positions.expand(images.shape[0], -1, -1)], dim=2)

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
        bias = torch.zeros_like(tokens, dtype=h.dtype)
        if reader.salience is not None and self.model.words.answered is not None:
            answered = self.model.words.answered
            values = reader.salience.SCALE * torch.where(answered > 0, reader.salience.answers, reader.salience.others)
            bias = F.pad(values, (0, 1))[tokens]
        positions = h.shape[1]
        y = F.one_hot(torch.full((h.shape[0],), positions // 2, device=h.device), positions).to(h.dtype)
        x_loc = y
        covered = torch.zeros_like(bias)
        for _ in range(reader.steps):
            cosine = (p[:, None] * w_bar).sum(2) / (p.norm(dim=1)[:, None] * w_bar.norm(dim=2)).clamp(min=1e-8)
            logits = temperature * cosine + bias + (1 - covered.clamp(max=MAX_COVERED)).log()
            o = F.softmax(logits.masked_fill(~attendable, -math.inf), dim=1)
            p = reader.state((o[:, :, None] * w_bar).sum(1), p)
            s = (o[:, :, None] * w).sum(1)
            if self.model.config.word_detection == "per_word":
                each = self.detection(torch.einsum("bnd,bld->bln", h, w))  # where each word is detected
                detected = (o[:, :, None] * each).sum(1)
            else:
                detected = self.detection((h * s[:, None]).sum(2))
            x_loc = self.convolve(detected, y)
            rho = self.gate(reader.gate, p)
            y = rho * x_loc + (1 - rho) * y
            if reader.coverage:
                covered = torch.maximum(covered, rho * o / o.max(dim=1, keepdim=True).values)
        if reader.log_sharpness is not None:
            power = x_loc.clamp(min=1e-6) ** reader.log_sharpness.exp()
            x_loc = power / power.sum(1, keepdim=True)
        mean = (states * real[:, :, None]).sum(1) / real.sum(1, keepdim=True).clamp(min=1)
        assert reader.mask is not None, "the reference implementation needs a model with an answer head"
        return x_loc, reader.mask(mean)

    def detection(self, scores: Tensor) -> Tensor:
        """y' of scores [..., N], Eq. 7"""
        bound = self.model.config.detection_bound
        if bound is not None:
            scores = scores - (1 - SLOPE_ABOVE_BOUND) * (1 + (scores - bound).exp()).log()
        more = math.log(scores.shape[-1]) / math.log(self.model.spec.positions)
        return (scores * max(1, more)).softmax(-1)

    def gate(self, gate: Gate, p: Tensor) -> Tensor:
        """rho [B, 1], Eq. 7"""
        logit = p @ gate.weight.T
        if gate.bound is not None:
            cosine = logit / (p.norm(dim=1, keepdim=True) * gate.weight.norm()).clamp(min=1e-8)
            logit = gate.bound * torch.where(cosine < 0, NEGATIVE_GATE_SLOPE * cosine, cosine)
        return torch.sigmoid(logit + gate.bias)

    def plan(self, x_loc: Tensor, x_terr: Tensor) -> tuple[Tensor, Tensor]:
        """Action logits [B, actions] and values [B], with either planner"""
        planner, side = self.model.planner, math.isqrt(x_loc.shape[1])
        if isinstance(planner, MLPPlanner):
            x = torch.stack([x_loc, x_terr], 1).reshape(-1, 2, side, side)
            for conv in (layer for layer in planner.m_a if isinstance(layer, nn.Conv2d)):
                x = F.conv2d(x, conv.weight, conv.bias, padding=1).clamp(min=0)
            features = self.dense(planner.m_a, x.flatten(1)).clamp(min=0)
            return self.dense(planner.action, features), self.dense(planner.critic, features)[:, 0]
        squared = x_loc**GOAL_EXPONENT
        goal = (squared / squared.sum(1, keepdim=True)).reshape(-1, 1, side, side)
        growth = max(1, side / self.model.spec.view)
        obstacle = 1 - (1 - x_terr**OBSTACLE_EXPONENT) ** growth
        if planner.contrast is not None:
            obstacle = torch.sigmoid(growth * planner.contrast * torch.logit(x_terr))
        obstacle = obstacle.reshape(-1, 1, side, side)
        if planner.discount is not None:
            elsewhere = torch.ones(side, side)
            elsewhere[side // 2, side // 2] = 0
            obstacle = obstacle * elsewhere
        passable = (1 - goal) * (1 - obstacle)
        value = goal
        for _ in range(math.ceil(growth * planner.sweeps)):
            moves = F.conv2d(value, planner.kernels(growth).reshape(-1, 1, 3, 3), padding=1)  # [B, moves, side, side]
            value = goal + passable * moves.max(dim=1, keepdim=True).values
        center = side // 2
        maps = torch.cat([x_loc.reshape_as(goal), x_terr.reshape_as(goal)], 1)
        around = maps[:, :, center - 1 : center + 2, center - 1 : center + 2].flatten(1)  # [B, 2 * 9]
        near = value[:, 0, center - 1 : center + 2, center - 1 : center + 2].flatten(1)  # [B, 9]
        log_value = near.clamp(min=planner.MIN_VALUE**growth).log()
        advantage = log_value - log_value[:, 4:5]
        if planner.discount is not None:
            advantage = (advantage / math.log(1 / planner.discount)).clamp(-planner.MAX_STEPS, planner.MAX_STEPS)
        logits = self.dense(planner.action, torch.cat([advantage, around], 1))
        return logits, self.dense(planner.critic, torch.cat([log_value, around], 1))[:, 0]

    def dense(self, layers: nn.Sequential, x: Tensor) -> Tensor:
        """The linear layers of a stack, with ReLU between them."""
        linear = [layer for layer in layers if isinstance(layer, nn.Linear)]
        for layer in linear[:-1]:
            x = (x @ layer.weight.T + layer.bias).clamp(min=0)
        return x @ linear[-1].weight.T + linear[-1].bias

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
        side = math.isqrt(a.shape[1])
        patches = F.unfold(a.reshape(-1, 1, side, side), side, padding=side // 2)  # [B, N offsets, N positions]
        return (patches * b.flip(1)[:, :, None]).sum(1)
