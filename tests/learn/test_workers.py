"""Workers: the result depends on the config and their number alone, and none of them outlives the run."""

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from groundling.errors import InputError, TrainingError
from groundling.learn.trainer import Trainer
from groundling.learn.workers import check_workers
from tests.learn.tiny import FAST, PAPER

ROOT = Path(__file__).parents[2]
TINY = replace(
    FAST,
    qa_pretraining=replace(FAST.qa_pretraining, updates=4, curriculum_episodes=0),
    ppo=replace(FAST.ppo, iterations=3, terrain_coef=0.3, naming_coef=0.1),
)
SCRIPT = """
import sys
from pathlib import Path
from dataclasses import replace
from groundling.learn.trainer import Trainer
from tests.learn.tiny import FAST
if __name__ == "__main__":
    config = replace(FAST, qa_pretraining=replace(FAST.qa_pretraining, updates=100_000))
    trainer = Trainer(config, Path(sys.argv[1]), device="cpu", save_seconds=0, workers=2)
    trainer.before_update = lambda trainer: print(trainer.stage.workers.processes[0].pid, flush=True)
    print(trainer.train(), flush=True)
"""


def train(folder: Path, *, workers: int, seconds: float = 30.0, stop_at: int | None = None) -> dict[str, torch.Tensor]:
    """The weights of a run that is interrupted once, after `stop_at` updates of all stages, and resumed."""
    for resume in (False, True) if stop_at is not None else (False,):
        trainer = Trainer(TINY, folder, resume, "cpu", seconds, workers)
        done = 0

        def count(trainer: Trainer, resume: bool = resume) -> None:
            nonlocal done
            done += 1
            if not resume and done == stop_at:
                trainer.signal = signal.SIGTERM

        trainer.before_update = count
        assert trainer.train() == ("finished" if resume or stop_at is None else "signal")
    return {name: tensor.clone() for name, tensor in trainer.model.state_dict().items()}


def equal(a: dict[str, torch.Tensor], b: dict[str, torch.Tensor]) -> bool:
    return all(torch.equal(a[name], b[name]) for name in a)


def test_result_depends_on_the_number_of_workers_alone_and_resumes_bit_for_bit(tmp_path: Path) -> None:
    torch.set_num_threads(1)
    whole = train(tmp_path / "whole", workers=2)
    assert equal(whole, train(tmp_path / "parts", workers=2, stop_at=6))
    one = train(tmp_path / "one", workers=1)
    assert not equal(whole, one)
    # The parts are averages over fewer rows, so weights differ a little more than by rounding.
    difference = max(float((whole[name] - one[name]).abs().max()) for name in one if name != "words.answered")
    assert 0 < difference < 0.1


def test_worker_that_dies_ends_training_with_an_error(tmp_path: Path) -> None:
    trainer = Trainer(TINY, tmp_path / "run", device="cpu", workers=2)
    processes = []

    def kill(trainer: Trainer) -> None:
        assert trainer.stage.workers is not None
        processes.append(trainer.stage.workers.processes[0])
        os.kill(processes[0].pid, signal.SIGKILL)

    trainer.before_update = kill
    with pytest.raises(TrainingError, match=r"worker 1 ended with exit code -9; --resume continues"):
        trainer.train()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_signals_end_all_processes(tmp_path: Path, number: signal.Signals) -> None:
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    environment["PYTHONPATH"] = os.pathsep.join([str(ROOT), str(ROOT / "src"), environment.get("PYTHONPATH", "")])
    command = [sys.executable, str(script), str(tmp_path / "run")]
    run = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment, start_new_session=True)
    assert run.stdout is not None
    worker = int(run.stdout.readline())
    if number == signal.SIGKILL:
        os.kill(run.pid, number)
    else:
        os.killpg(run.pid, number)  # as a terminal and a service manager do
    output = run.stdout.read()
    run.wait(60)
    if number != signal.SIGKILL:
        assert output.splitlines()[-1] == "signal"
        assert (tmp_path / "run" / "state.safetensors").exists()
    for _ in range(600):
        try:
            os.kill(worker, 0)
        except ProcessLookupError:
            return
        time.sleep(0.1)
    pytest.fail("the worker is still running")


def test_numbers_of_workers_that_cannot_be_are_refused() -> None:
    assert check_workers(3, FAST, torch.device("cpu")) == 3
    for count in (0, 65):
        with pytest.raises(InputError, match="workers must be an integer from 1 to 64"):
            check_workers(count, FAST, torch.device("cpu"))
    with pytest.raises(InputError, match=r"workers must be 1 on a cuda device, got 2; use --device cpu"):
        check_workers(2, FAST, torch.device("cuda"))
    with pytest.raises(InputError, match="workers must be 1 for the stage actor_critic"):
        check_workers(2, PAPER, torch.device("cpu"))
