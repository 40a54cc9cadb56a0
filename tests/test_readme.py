"""The code of the README runs."""

import re
from pathlib import Path

import pytest

README = Path(__file__).parents[1] / "README.md"


def python_blocks() -> list[str]:
    return re.findall(r"^```python\n(.*?)^```$", README.read_text("utf-8"), re.MULTILINE | re.DOTALL)


def test_quick_start_plays_an_episode_in_few_lines_and_reaches_the_target(capsys: pytest.CaptureFixture[str]) -> None:
    blocks = [block for block in python_blocks() if "groundling.load(" in block and "env.step(agent.act(" in block]
    assert len(blocks) == 1, "README.md must have one python block that plays an episode with a pretrained agent"
    lines = [line for line in blocks[0].splitlines() if line.strip() and not line.startswith(("import ", "from "))]
    assert len(lines) <= 6
    exec(compile(blocks[0], str(README), "exec"), {})
    assert capsys.readouterr().out == "True\n"
