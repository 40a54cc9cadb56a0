"""`groundling demo`"""

from functools import partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import tyro

from groundling.cli.output import Threads, print_table, set_threads
from groundling.errors import check_choice, check_int
from groundling.extras import needs

SHOWN = 12
"""Episodes on the sheet of attention maps."""


def demo(
    out: Annotated[Path, tyro.conf.arg(help="Folder to write the run, its table and its images to.")] = Path("out"),
    preset: Annotated[str, tyro.conf.arg(help="Training preset: smoke, fast, paper or paper-literal.")] = "smoke",
    episodes: Annotated[
        int, tyro.conf.arg(help="Evaluation episodes on each of normal, ZS1 and ZS2 sentences.")
    ] = 1000,
    threads: Threads = None,
) -> None:
    """Train an agent in a small world, evaluate it, and write a table and images."""
    needs("agent")
    needs("study")
    from groundling.cli.train import follow
    from groundling.evaluation.evaluator import Evaluator
    from groundling.learn.presets import PRESETS
    from groundling.learn.trained_agent import load_agent
    from groundling.learn.trainer import Trainer
    from groundling.study import pictures
    from groundling.study.curves import learning, write
    from groundling.study.metrics import read_metrics

    check_choice("preset", preset, PRESETS)
    check_int("episodes", episodes, 1)
    set_threads(threads)
    run = out / "run"
    follow(Trainer(PRESETS[preset], run, resume=True))
    agent = load_agent(run / "last.safetensors")

    rows = []
    for label, split, phase in (
        ("normal: as in training", None, "train"),
        ("ZS1: new pairs of known words", "zs1", "test"),
        ("ZS2: words seen only in answers", "zs2", "test"),
    ):
        teacher = agent.teacher(split, None, phase)
        record = Evaluator(agent.model, teacher, greedy=True).run(episodes)
        scores = {**record.commands(), **record.questions()}
        rows.append((label, *(_percent(scores[name]) for name in ("success_rate", "qa_accuracy", "command_attention"))))
    columns = ("sentences", "success rate, %", "QA accuracy, %", "attention on target, %")
    print_table(f"{episodes:,} episodes of each kind, 95 % intervals", columns, rows)
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
    return f"{100 * estimate.mean:.1f} ({100 * estimate.low:.1f}..{100 * estimate.high:.1f})"
