"""The agent's part of `groundling bench scale`: how the cost of acting and learning grows with maps and classes."""

import time
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from groundling.agent import EnvSpec, Model, View, build
from groundling.cli.bench_agent import Minibatch
from groundling.learn.presets import PRESETS
from groundling.teacher.teacher import Teacher
from groundling.world.simulation import ACTIONS
from groundling.world.types import WorldConfig

ENVS, STEPS = 8, 4
"""A minibatch of the same size for all maps; larger ones would not fit into memory on maps of 63 x 63."""
Row = dict[str, float]


def side_costs(side: int, seconds: float) -> Row:
    """Costs per observation on maps of one size, with as many objects and walls per cell as the paper's.

    `update`: of a model for this size; `act`: of a model for 7 x 7, whose planner makes more sweeps on larger maps.
    """
    trained, world = WorldConfig(), WorldConfig().resized(side)
    return costs(Teacher(world), seconds, _model(185, world.size), _model(185, trained.size))


def class_costs(teacher: Teacher, seconds: float) -> Row:
    """Costs per observation with the classes of a teacher."""
    model = _model(len(teacher.lexicon), teacher.world.size)
    return costs(teacher, seconds, model, model)


def _model(words: int, size: int) -> Model:
    torch.manual_seed(0)
    return build(PRESETS["fast"].agent, EnvSpec(words, len(ACTIONS), 2 * size - 1))


def costs(teacher: Teacher, seconds: float, learner: Model, actor: Model) -> Row:
    """Microseconds of CPU time to act on an observation and to learn from it, bytes that an update keeps for the
    backward pass, per observation, and the bytes of parameters and optimizer."""
    batch = Minibatch(teacher=teacher, envs=ENVS, steps=STEPS)
    optimizer = torch.optim.AdamW(learner.parameters())

    def loss() -> Tensor:
        return batch.loss(learner(View.of_cells(batch.cells, batch.table), batch.commands, batch.questions))

    def update() -> None:
        optimizer.zero_grad()
        loss().backward()
        optimizer.step()

    def act() -> None:
        with torch.inference_mode():
            actor(View.of_cells(batch.cells, batch.table), batch.commands, batch.questions)

    count = len(batch.cells)
    kept = kept_bytes(loss, learner) / count
    state = sum(p.nbytes for p in learner.parameters()) * 4  # with gradients and the two moments of AdamW
    return {
        "act_us": 1e6 * cpu_seconds(act, seconds) / count,
        "update_us": 1e6 * cpu_seconds(update, seconds) / count,
        "update_bytes": kept,
        "model_bytes": float(state),
    }


def cpu_seconds(run: Callable[[], None], seconds: float) -> float:
    """CPU time of one run, the least of at least two after one to warm up."""
    run()
    times: list[float] = []
    start = time.process_time()
    while len(times) < 2 or time.process_time() - start < seconds:
        before = time.process_time()
        run()
        times.append(time.process_time() - before)
    return min(times)


def kept_bytes(loss: Callable[[], Tensor], model: torch.nn.Module) -> float:
    """Bytes that the forward pass keeps for the backward pass, without those of the parameters."""
    kept: dict[int, tuple[Any, int]] = {}

    def keep(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        kept[storage.data_ptr()] = storage, storage.nbytes()  # held, so that no other takes its address
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        loss()
    own = {p.untyped_storage().data_ptr() for p in model.parameters()}
    return float(sum(size for address, (_, size) in kept.items() if address not in own))
