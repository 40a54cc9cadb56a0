"""`groundling export ...`"""

from pathlib import Path
from typing import Annotated

import tyro

from groundling.cli.output import Seed, progress_bar
from groundling.export.minari import export_minari
from groundling.export.parquet import export_parquet
from groundling.export.recording import ExportConfig

app = tyro.extras.SubcommandApp()
PolicyName = Annotated[
    str,
    tyro.conf.arg(
        help="Policy: oracle (shortest paths and true answers), random, or agent (a trained one, see --agent)."
    ),
]
Agent = Annotated[
    str | None,
    tyro.conf.arg(
        metavar="CHECKPOINT",
        help="Checkpoint file, run folder or name of pretrained weights, for --policy agent.",
        help_behavior_hint="",
    ),
]
Count = Annotated[int, tyro.conf.arg(help="Number of episodes in all; those exported before are kept.")]
NavOnly = Annotated[bool, tyro.conf.arg(help="Leave out questions and answers.")]
Split = Annotated[str, tyro.conf.arg(help="Split of the language: normal, zs1, zs2, ... or module:Class.")]
Holdout = Annotated[float, tyro.conf.arg(help="Percentage that the split holds out.")]
Phase = Annotated[str, tyro.conf.arg(help="Sentences without anything held out (train), or only those with it (test).")]
LexiconName = Annotated[str, tyro.conf.arg(help="Words: plain, invented (content words) or all-invented.")]
LexiconSeed = Annotated[int, tyro.conf.arg(help="Seed of the invented words.")]


@app.command
def minari(
    dataset_id: Annotated[
        tyro.conf.Positional[str], tyro.conf.arg(metavar="ID", help="Dataset id, such as groundling/navqa/oracle-v0.")
    ],
    policy: PolicyName = "oracle",
    agent: Agent = None,
    episodes: Count = 1000,
    seed: Seed = 0,
    nav_only: NavOnly = False,
    split: Split = "normal",
    holdout: Holdout = 50.0,
    phase: Phase = "train",
    lexicon: LexiconName = "plain",
    lexicon_seed: LexiconSeed = 0,
) -> None:
    """Export episodes to a Minari dataset; an interrupted export continues."""
    config = ExportConfig(policy, seed, not nav_only, split, holdout, phase, lexicon, lexicon_seed, agent)
    with progress_bar("Exporting") as progress:
        export_minari(config, dataset_id, episodes, progress)
    print(f"{dataset_id}: {episodes:,} episodes")


@app.command
def parquet(
    folder: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="FOLDER", help="Folder of the files.")],
    policy: PolicyName = "oracle",
    agent: Agent = None,
    episodes: Count = 1000,
    seed: Seed = 0,
    nav_only: NavOnly = False,
    split: Split = "normal",
    holdout: Holdout = 50.0,
    phase: Phase = "train",
    lexicon: LexiconName = "plain",
    lexicon_seed: LexiconSeed = 0,
) -> None:
    """Export episodes and questions to Parquet files; an interrupted export continues."""
    config = ExportConfig(policy, seed, not nav_only, split, holdout, phase, lexicon, lexicon_seed, agent)
    with progress_bar("Exporting") as progress:
        export_parquet(config, folder, episodes, progress)
    print(f"{folder}: {episodes:,} episodes")
