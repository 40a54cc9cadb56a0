"""`groundling export ...`"""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from groundling.cli.output import Seed, progress_bar
from groundling.export.minari import export_minari
from groundling.export.parquet import export_parquet
from groundling.export.recording import ExportConfig

app = tyro.extras.SubcommandApp()


@dataclass(frozen=True)
class Options:
    """What is exported."""

    policy: Annotated[
        str,
        tyro.conf.arg(
            help="Policy: oracle (shortest paths and true answers), random, or agent (a trained one, see --agent)."
        ),
    ] = "oracle"
    agent: Annotated[
        str | None,
        tyro.conf.arg(
            metavar="CHECKPOINT",
            help="Checkpoint file, run folder or name of pretrained weights, for --policy agent.",
            help_behavior_hint="",
        ),
    ] = None
    episodes: Annotated[int, tyro.conf.arg(help="Number of episodes in all; those exported before are kept.")] = 1000
    seed: Seed = 0
    nav_only: Annotated[bool, tyro.conf.arg(help="Leave out questions and answers.")] = False
    split: Annotated[str, tyro.conf.arg(help="Split of the language: normal, zs1, zs2, ... or module:Class.")] = (
        "normal"
    )
    holdout: Annotated[float, tyro.conf.arg(help="Percentage that the split holds out.")] = 50.0
    phase: Annotated[
        str, tyro.conf.arg(help="Sentences without anything held out (train), or only those with it (test).")
    ] = "train"
    lexicon: Annotated[str, tyro.conf.arg(help="Words: plain, invented (content words) or all-invented.")] = "plain"
    lexicon_seed: Annotated[int, tyro.conf.arg(help="Seed of the invented words.")] = 0

    def config(self) -> ExportConfig:
        """The same as settings of the exports."""
        return ExportConfig(
            self.policy,
            self.seed,
            not self.nav_only,
            self.split,
            self.holdout,
            self.phase,
            self.lexicon,
            self.lexicon_seed,
            self.agent,
        )


ExportOptions = Annotated[Options, tyro.conf.arg(name="")]


@app.command
def minari(
    dataset_id: Annotated[
        tyro.conf.Positional[str], tyro.conf.arg(metavar="ID", help="Dataset id, such as groundling/navqa/oracle-v0.")
    ],
    options: ExportOptions = Options(),
) -> None:
    """Export episodes to a Minari dataset; an interrupted export continues."""
    with progress_bar("Exporting") as progress:
        export_minari(options.config(), dataset_id, options.episodes, progress)
    print(f"{dataset_id}: {options.episodes:,} episodes")


@app.command
def parquet(
    folder: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="FOLDER", help="Folder of the files.")],
    options: ExportOptions = Options(),
) -> None:
    """Export episodes and questions to Parquet files; an interrupted export continues."""
    with progress_bar("Exporting") as progress:
        export_parquet(options.config(), folder, options.episodes, progress)
    print(f"{folder}: {options.episodes:,} episodes")
