"""Every example runs, prints what it promises, and can be trained by the command line."""

import contextlib
import importlib
import io
import re
from pathlib import Path

import pytest

from groundling.cli import main

FOLDER = Path(__file__).parents[1] / "examples"
PRINTS = {
    "own_sentences": r"Move to the gray object\.(.|\n)*in the \w+ of the object in the \w+ of the \w+",
    "own_words": r"the (small|big) \w+",
    "own_language": r"Reach das norden near das bat bitte\.",
    "own_maps": r"[.#@X]( [.#@a-zA-Z])+",
    "own_split": r"train \[.*green.*\]\ntest \[.*(red|gray|blue|orange).*\]",
    "own_rewards": r"the paper's rewards: +-\d+\.\d",
}
TRAIN = {
    "own_sentences": "--language own_sentences.toml",
    "own_words": "--language own_words.toml --icons own_words:sized_icons --split zs1 --holdout 20",
    "own_language": "--language own_language.toml",
    "own_maps": "--maps own_maps:corridors",
    "own_split": "--split own_split:ColorsOfCommands",
    "own_rewards": "--rewards.step -0.02 --rewards.wrong-object -2",
}
TINY = "--size 5 --objects 1 3 --walls 0 3 --num-classes 12 --agent.channels 16 --agent.hidden-units 16"
SHORT = "--qa-pretraining.updates 2 --qa-pretraining.batch-size 8 --ppo.iterations 1 --ppo.num-envs 16"


@pytest.fixture(autouse=True)
def in_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(FOLDER)
    monkeypatch.syspath_prepend(str(FOLDER))


@pytest.mark.parametrize("name", PRINTS)
def test_example_prints_what_it_promises(name: str) -> None:
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        importlib.import_module(name).main()
    assert re.search(PRINTS[name], out.getvalue()), out.getvalue()


def test_examples_are_short_and_documented() -> None:
    for path in FOLDER.glob("*.py"):
        assert len(path.read_text("utf-8").splitlines()) <= 60, path
        assert (FOLDER.parent / "docs" / "extending" / f"{path.stem}.md").is_file(), path


@pytest.mark.slow
@pytest.mark.parametrize("name", TRAIN)
def test_example_is_trained_and_evaluated(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = str(tmp_path / "run")
    main(["train", "smoke", *TRAIN[name].split(), *TINY.split(), *SHORT.split(), "--threads", "1", "--out", run])
    main(["evaluate", run, "--episodes", "4", "--episodes-per-type", "2", "--threads", "1", "--allow-import"])
    assert "success rate" in capsys.readouterr().out
    main(["check-leaks", run])
