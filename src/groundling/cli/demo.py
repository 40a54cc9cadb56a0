"""`groundling demo`: a small world is learned in minutes, tested on sentences never heard, and shown."""

from functools import partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import tyro

from groundling.cli.output import print_table
from groundling.errors import InputError
from groundling.extras import needs

SHOWN = 12
"""Episodes on a sheet of pictures."""


def demo(
    out: Annotated[Path, tyro.conf.arg(help="Folder for the run, its table and its pictures.")] = Path("out"),
    preset: Annotated[str, tyro.conf.arg(help="What to train: smoke, or another preset.")] = "smoke",
    episodes: Annotated[int, tyro.conf.arg(help="Whole episodes in each part of the test.")] = 1000,
) -> None:
    """Train an agent in a small world, test it on known and on new sentences, and write a table and pictures."""
    needs("agent")
    needs("study")
    from groundling.cli.train import follow
    from groundling.evaluation.evaluator import Evaluator
    from groundling.learn.config import PRESETS
    from groundling.learn.trained_agent import load_agent
    from groundling.learn.trainer import Trainer
    from groundling.study import pictures
    from groundling.study.curves import learning, write
    from groundling.study.metrics import read_metrics

    if preset not in PRESETS:
        raise InputError(f"preset {preset!r}: it is one of {', '.join(PRESETS)}")
    config = PRESETS[preset]
    run = out / "run"
    follow(Trainer(config, run, resume=True))
    agent = load_agent(str(run / "last.safetensors"))

    rows = []
    for told, split, phase in (
        ("normal: such as it was taught", None, "train"),
        ("ZS1: new pairs of known words", "zs1", "test"),
        ("ZS2: words known from answers only", "zs2", "test"),
    ):
        teacher = agent.teacher(split, None, phase)
        record = Evaluator(agent.model, teacher, greedy=True).run(episodes)
        scores = {**record.commands(), **record.questions()}
        rows.append((told, *(_percent(scores[name]) for name in ("success", "accuracy", "command_attention"))))
    columns = ("sentences", "commands done %", "questions right %", "attention on the target %")
    print_table(f"After {episodes:,} whole episodes of each kind", columns, rows)
    text = ["| " + " | ".join(row) + " |" for row in (columns, ("---",) * len(columns), *rows)]
    (out / "table.md").write_text("\n".join(text) + "\n", "utf-8")

    write(partial(learning, {preset: read_metrics(run / "metrics.jsonl")}), out / "learning.png")
    teacher = agent.teacher("zs2", None, "test")
    episode = teacher.begin(0, np.arange(SHOWN))
    pictures.attention_sheet(agent, teacher, episode).save(out / "attention.png")
    pictures.save_gif(pictures.walk(agent, teacher, teacher.begin(1, [0])), out / "episode.gif")
    written = ("table.md", "learning.png", "attention.png", "episode.gif")
    print(f"Written: {', '.join(str(out / name) for name in written)}")


def _percent(estimate: Any) -> str:
    if estimate is None:
        return "-"
    return f"{100 * estimate.mean:.1f} ({100 * estimate.low:.1f} .. {100 * estimate.high:.1f})"
