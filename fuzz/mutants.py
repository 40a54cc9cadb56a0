"""Mutation testing: small faults are put into a copy of the package, one at a time, and the tests must notice them.

    python fuzz/mutants.py --count 60 --seed 4711 --log mutants.jsonl

A mutant is a comparison, an operator, a number, a truth value, a condition, a return value or an assignment that is
changed or left out. The sample is a function of the seed and the sources. First, all mutants face the quick tests of
their files; the survivors of that, all quick tests of the package; with `--slow`, those that are left, the slow tests.
The page, studies and the browser are left out. Each set of tests must first pass without a mutant. With `--log`,
results are appended to a file, and what it already holds is not repeated. Exit code 1 if less than 95 % of the mutants
that are not equivalent are killed. Sixty take about half an hour on an idle core. Needs Unix.
"""

import argparse
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from pathlib import Path
from queue import SimpleQueue

import numpy as np
from mutations import Mutant, mutants

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "groundling"
BAR = 0.95
"""Share of the mutants that are not equivalent which the tests must kill."""
MAX_SECONDS = (180.0, 600.0, 1800.0)
"""For the tests of each step; a mutant that takes longer is killed."""

ENV = ("tests/test_env.py", "tests/test_env_arguments.py")
TEACHER = ("tests/teacher/test_teacher.py",)
AGENT = ("tests/agent/test_agent.py", "tests/agent/test_grounding.py", "tests/learn/test_trained_agent.py")
LANGUAGE = (
    "tests/teacher/test_language.py",
    "tests/teacher/test_references.py",
    "tests/teacher/test_refused_languages.py",
    "tests/teacher/test_grammar.py",
)
SPLITS = ("tests/teacher/test_splits.py", "tests/teacher/test_split_sampling.py")
TRAINER = ("tests/learn/test_stages.py", "tests/learn/test_trainer.py")
TESTS: dict[str, tuple[str, ...]] = {
    "world/simulation.py": ("tests/world/test_simulation.py", "tests/world/test_scripted_episodes.py", *ENV),
    "world/map_generation.py": ("tests/world/test_map_generation.py", *TEACHER, *ENV),
    "world/shortest_path.py": ("tests/world/test_simulation.py", *TEACHER, *ENV),
    "world/rng.py": ("tests/world/test_rng.py", "tests/world/test_simulation.py", *TEACHER),
    "world/rendering.py": ("tests/world/test_simulation.py", "tests/world/test_catalog.py", *ENV),
    "world/scenario.py": ("tests/world/test_scenario.py", "tests/world/test_scripted_episodes.py"),
    "world/catalog.py": ("tests/world/test_catalog.py", "tests/world/test_simulation.py", *ENV),
    **dict.fromkeys(
        (
            "teacher/language.py",
            "teacher/language_file.py",
            "teacher/reference_expressions.py",
            "teacher/sentence_types.py",
            "teacher/translation.py",
            "teacher/vocabulary.py",
        ),
        LANGUAGE,
    ),
    "teacher/attribute_rules.py": ("tests/teacher/test_references.py",),
    "teacher/language_tables.py": ("tests/teacher/test_valid_sentences.py", *LANGUAGE, *SPLITS, *TEACHER),
    "teacher/references.py": ("tests/teacher/test_valid_sentences.py", "tests/teacher/test_references.py", *TEACHER),
    "teacher/allowed_table.py": (*SPLITS, "tests/teacher/test_many_classes.py"),
    "teacher/sampling_rules.py": (*SPLITS, *TEACHER, *ENV),
    "teacher/episode_sampling.py": (*TEACHER, *ENV),
    "teacher/curriculum.py": ("tests/teacher/test_curriculum.py", *TEACHER, *ENV),
    "teacher/splits.py": (*SPLITS, *TEACHER),
    "teacher/grammar.py": ("tests/teacher/test_grammar.py", "tests/teacher/test_valid_sentences.py", *TEACHER),
    "teacher/teacher.py": (*TEACHER, *ENV),
    "teacher/valid_sentences.py": ("tests/teacher/test_valid_sentences.py", *TEACHER),
    "teacher/snapshot.py": (*ENV, *TEACHER),
    "episodes.py": ("tests/test_episodes.py", *ENV),
    "env.py": ENV,
    "rollout.py": ("tests/evaluation/test_evaluator.py", *TRAINER),
    "evaluation/evaluator.py": ("tests/evaluation/test_evaluator.py",),
    "evaluation/estimates.py": ("tests/evaluation/test_estimates.py",),
    "evaluation/leak_check.py": ("tests/evaluation/test_leak_check.py",),
    "evaluation/attention_targets.py": ("tests/evaluation/test_attention_targets.py",),
    "agent/grounding.py": AGENT,
    "agent/language.py": ("tests/agent/test_word_dropout.py", *AGENT),
    "agent/perception.py": AGENT,
    "agent/planners.py": ("tests/agent/test_planners.py", *AGENT),
    "agent/model.py": AGENT,
    "agent/view.py": AGENT,
    "agent/checkpoint.py": ("tests/agent/test_checkpoint.py", "tests/agent/test_legacy.py"),
    "learn/losses.py": ("tests/learn/test_losses.py", "tests/learn/test_actor_critic_loss.py"),
    "learn/replay_buffer.py": ("tests/learn/test_replay_buffer.py",),
    "learn/ppo.py": ("tests/learn/test_losses.py", *TRAINER),
    "learn/qa_pretraining.py": TRAINER,
    "learn/actor_critic.py": ("tests/learn/test_actor_critic_loss.py", *TRAINER),
    "learn/stage.py": ("tests/learn/test_parameter_groups.py", *TRAINER),
    "learn/few_shot.py": ("tests/learn/test_few_shot.py",),
    "learn/trained_agent.py": ("tests/learn/test_trained_agent.py",),
    "read_json.py": ("tests/test_read_json.py", "tests/agent/test_checkpoint.py", "tests/teacher/test_splits.py"),
    "errors.py": ("tests/world/test_scenario.py", "tests/agent/test_checkpoint.py", *ENV),
}
"""The files that are mutated, and the tests that are run first."""
ALL_TESTS = (
    "tests/test_read_json.py",
    "tests/test_episodes.py",
    "tests/world",
    "tests/evaluation",
    *ENV,
    "tests/agent",
    "tests/teacher",
    "tests/learn",
    "tests/cli/test_commands.py",
    "tests/cli/test_train.py",
)
NOT_RUN = ("tests/learn/test_trained_agent.py::test_load_and_teach_have_the_static_type_trained_agent",)
"""Runs mypy, on the sources."""

EQUIVALENT: dict[tuple[str, str, str], str] = {
    (
        "teacher/sampling_rules.py",
        "(type_.fewest_objects, self.classes_needed[type_.name] or 0, type_.in_line) for type_ in language.types",
        "0 to 1: `0`",
    ): "compared only with numbers of classes, which are at least 1",
    ("evaluation/evaluator.py", "asked = question.type >= 0", "0 to 1: `0`"): (
        "type 0 is a command, so no question has it"
    ),
}
"""Mutants that change nothing that can be observed, judged by hand: file, line and mutation, and why."""


@dataclass(frozen=True)
class Result:
    """What the tests said about a mutant."""

    index: int
    file: str
    line: int
    start: int
    source: str
    mutation: str
    step: int
    """The last step of the tests that was run."""
    killed_by: str | None
    seconds: float


def equivalent(mutant: Mutant) -> str | None:
    """Why a mutant changes nothing; None if it may."""
    return EQUIVALENT.get((mutant.file, mutant.source, mutant.mutation))


def sample(count: int, seed: int) -> list[Mutant]:
    """Mutants of all files, in a random order."""
    every = [mutant for file in TESTS for mutant in mutants(file, (PACKAGE / file).read_bytes())]
    chosen = np.random.default_rng(seed).permutation(len(every))[:count]
    return [every[k] for k in chosen]


class Workplace:
    """A copy of the package in a folder of its own, with its compiled kernels."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.package = folder / "groundling"
        linked = shutil.ignore_patterns("__pycache__", "data", "weights")
        shutil.copytree(PACKAGE, self.package, ignore=linked)  # keeps times, which are part of Numba's cache keys
        for name in ("world/data", "weights"):
            (self.package / name).symlink_to(PACKAGE / name)
        self.environment = {
            **os.environ,
            "PYTHONPATH": str(folder),
            "PYTHONDONTWRITEBYTECODE": "1",
            "OMP_NUM_THREADS": "1",
            "NUMBA_CACHE_DIR": str(folder / "kernels"),
        }
        code = "import groundling; print(groundling.__file__)"
        found = subprocess.run(
            [sys.executable, "-c", code], env=self.environment, cwd=ROOT, capture_output=True, text=True, check=True
        ).stdout.strip()
        if Path(found).parent != self.package:
            sys.exit(f"The tests would use {found} instead of the copy in {self.package}")

    def test(self, index: int, mutant: Mutant, step: int) -> Result:
        """Run one step of the tests against a mutant until one fails."""
        path = self.package / mutant.file
        content, times = path.read_bytes(), path.stat()
        start = time.monotonic()
        path.write_bytes(content[: mutant.start] + mutant.text.encode() + content[mutant.end :])
        try:
            killed_by = self.pytest(STEPS[step](TESTS[mutant.file]), MAX_SECONDS[step])
        finally:
            path.write_bytes(content)
            os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
        seconds = round(time.monotonic() - start, 1)
        return Result(
            index, mutant.file, mutant.line, mutant.start, mutant.source, mutant.mutation, step, killed_by, seconds
        )

    def pytest(self, arguments: Sequence[str], seconds: float) -> str | None:
        """The test that fails, or another end; None if all pass."""
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *arguments]
        command += [f"--deselect={test}" for test in NOT_RUN]
        with tempfile.TemporaryFile("w+") as output:
            process = subprocess.Popen(
                command, env=self.environment, cwd=ROOT, stdout=output, stderr=output, start_new_session=True
            )
            try:
                code = process.wait(seconds)
            except subprocess.TimeoutExpired:
                return "timeout"
            finally:
                if process.poll() is None:
                    os.killpg(process.pid, signal.SIGKILL)
                    process.wait()
            output.seek(0)
            text = output.read()
        if code in (0, 5):  # 5: no tests are left
            return None
        failed = re.search(r"^(?:FAILED|ERROR) (\S+)", text, re.MULTILINE)
        return failed[1] if failed else f"exit code {code}"


STEPS: tuple[Callable[[Sequence[str]], list[str]], ...] = (
    lambda first: [*first, "-m", "not slow"],
    lambda first: [*ALL_TESTS, "-m", "not slow", *(f"--ignore={test}" for test in first)],
    lambda first: [*ALL_TESTS, "-m", "slow"],
)
"""Arguments of pytest for each step, given the tests of a file."""


def show(result: Result, why_equivalent: str | None = None) -> None:
    if result.killed_by:
        outcome = f"killed by {result.killed_by}"
    else:
        outcome = f"survived, equivalent: {why_equivalent}" if why_equivalent else f"SURVIVED step {result.step}"
    print(f"{result.index:3} {result.file}:{result.line}: {result.mutation} in {result.source!r}")
    print(f"    {outcome} ({result.seconds:.0f} s)", flush=True)


def read_log(path: Path, chosen: Sequence[Mutant]) -> dict[int, Result]:
    """The last result of each mutant of the sample."""
    known = {}
    for line in path.read_text("utf-8").splitlines() if path.exists() else ():
        result = Result(**json.loads(line))
        mutant = chosen[result.index] if result.index < len(chosen) else None
        if mutant and (mutant.file, mutant.start, mutant.mutation) == (result.file, result.start, result.mutation):
            known[result.index] = result
    return known


def check_unmutated(workplaces: SimpleQueue[Workplace], arguments: Sequence[str]) -> None:
    """Exit if the tests fail without a mutant, too."""
    workplace = workplaces.get()
    failed = workplace.pytest(arguments, max(MAX_SECONDS))
    workplaces.put(workplace)
    if failed:
        sys.exit(f"{failed} fails without any mutant, so these tests can judge none")


def run(options: argparse.Namespace) -> int:
    """Test the sample, print every result and the counts; return the exit code."""
    chosen = sample(options.count, options.seed)
    indices = range(len(chosen)) if options.only is None else options.only
    known = read_log(options.log, chosen) if options.log and options.only is None else {}
    with tempfile.TemporaryDirectory(prefix="groundling-mutants-") as root, ThreadPoolExecutor(options.workers) as pool:
        workplaces: SimpleQueue[Workplace] = SimpleQueue()
        for k in range(options.workers):
            workplaces.put(Workplace(Path(root) / str(k)))

        def test(index: int, step: int) -> Result:
            workplace = workplaces.get()
            try:
                return workplace.test(index, chosen[index], step)
            finally:
                workplaces.put(workplace)

        for step in range(3 if options.slow else 2):
            left = [k for k in indices if k not in known or (known[k].killed_by is None and known[k].step < step)]
            left = [k for k in left if step == 0 or not equivalent(chosen[k])]
            if left:
                first = sorted({test for k in left for test in TESTS[chosen[k].file]}) if step == 0 else []
                check_unmutated(workplaces, STEPS[step](first))
            for future in as_completed([pool.submit(test, k, step) for k in left]):
                result = future.result()
                known[result.index] = result
                show(result, equivalent(chosen[result.index]))
                if options.log:
                    with options.log.open("a", encoding="utf-8") as log:
                        log.write(json.dumps(asdict(result)) + "\n")
    survivors = [k for k in indices if known[k].killed_by is None]
    holes = [k for k in survivors if not equivalent(chosen[k])]
    count = len(indices) - len(survivors)
    print(f"{len(indices)} mutants: {count} killed, {len(survivors) - len(holes)} equivalent, {len(holes)} survived")
    for k in holes:
        show(known[k])
    return int(count < BAR * (count + len(holes)))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--count", type=int, default=60, help="Number of mutants.")
    parser.add_argument("--seed", type=int, default=0, help="Seed of the sample.")
    parser.add_argument("--workers", type=int, default=1, help="Mutants that are tested at the same time.")
    parser.add_argument("--only", type=int, nargs="+", help="Indices of the mutants to test (again).")
    parser.add_argument("--slow", action="store_true", help="Run the slow tests too, which takes minutes.")
    parser.add_argument("--log", type=Path, help="JSON Lines file of results; what it holds is not repeated.")
    parser.add_argument("--list", action="store_true", help="Print the sample and test nothing.")
    options = parser.parse_args()
    if options.list:
        for index, mutant in enumerate(sample(options.count, options.seed)):
            print(f"{index:3} {mutant.file}:{mutant.line}: {mutant.mutation} in {mutant.source!r}")
        sys.exit()
    sys.exit(run(options))
