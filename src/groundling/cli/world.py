"""`groundling world ...`"""

from pathlib import Path
from typing import Annotated, Any

import tyro
from PIL import Image

from groundling.cli.output import Icons, Json, LanguageName, Seed, print_json, print_table
from groundling.env_options import EnvOptions
from groundling.episodes import play_to_end
from groundling.errors import InputError, check_int
from groundling.teacher.language import Language
from groundling.teacher.language_file import OBJECT
from groundling.teacher.teacher import Teacher
from groundling.teacher.types import EpisodeBatch
from groundling.world.catalog import DISPLAY_PIXELS
from groundling.world.rendering import ansi, draw, map_cells
from groundling.world.scenario import Scenario
from groundling.world.scripted_episodes import replay_file
from groundling.world.shortest_path import best_actions
from groundling.world.simulation import ACTIONS

app = tyro.extras.SubcommandApp()


@app.command
def show(
    seed: Seed = 0,
    episode: Annotated[int, tyro.conf.arg(help="Index of the episode; seed and index determine it.")] = 0,
    split: Annotated[
        str, tyro.conf.arg(help="Split of the language: normal, zs1, zs2, ..., module:Class, or a split file.")
    ] = "normal",
    holdout: Annotated[
        float, tyro.conf.arg(help="Percentage of word pairs, words, wordings or icons that the split holds out.")
    ] = 50.0,
    phase: Annotated[
        str, tyro.conf.arg(help="Sentences with held-out pairs or words (test), or those without (train).")
    ] = "test",
    language: LanguageName = "paper",
    maps: Annotated[str, tyro.conf.arg(help="Map generator: open, rooms, maze or module:function.")] = "open",
    icons: Icons = None,
    png: Annotated[
        Path | None,
        tyro.conf.arg(metavar="FILE", help="PNG file to draw the map to.", help_behavior_hint="(default: none)"),
    ] = None,
    as_json: Json = False,
) -> None:
    """Show the first step of an episode: map, command, question and a shortest path."""
    check_int("seed", seed, 0)
    check_int("episode", episode, 0)
    teacher = EnvOptions(split=split, holdout=holdout, phase=phase, icons=icons, language=language, maps=maps).teacher()
    begun = teacher.begin(seed, [episode])
    actions = shortest_path_actions(teacher, begun)
    if png is not None:
        pixels = draw(map_cells(begun.state), teacher.catalog.pictures[DISPLAY_PIXELS])[0]
        try:
            Image.fromarray(pixels).save(png, format="PNG")
        except OSError as error:
            raise InputError(f"{png}: cannot be written ({error.strerror})") from error
    if as_json:
        return print_json({**describe(teacher, begun), "shortest_path": actions})
    print(ansi(begun.state, teacher.catalog, mark_target=True)[0])
    answer = begun.question.answer[0]
    types = teacher.language.type_names
    rows = [("command", teacher.text(begun.command, 0), types[begun.command.type[0]])]
    if answer >= 0:
        rows.append(("question", teacher.text(begun.question, 0), types[begun.question.type[0]]))
        rows.append(("answer", teacher.lexicon.words[answer], ""))
    rows.append(("shortest path", " ".join(actions), f"{len(actions)} steps"))
    print_table(f"Episode {episode} of seed {seed}", ("", "", ""), rows)


@app.command
def replay(
    file: Annotated[
        tyro.conf.Positional[Path], tyro.conf.arg(metavar="FILE", help="JSON Lines file, one episode per line.")
    ],
    as_json: Json = False,
) -> None:
    """Replay episodes of a JSON Lines file, and print positions and rewards."""
    episodes = replay_file(file, Language.paper().word_classes[OBJECT])
    if as_json:
        for played in episodes:
            print_json(played)
        return
    for number, played in enumerate(episodes, 1):
        path = " ".join(f"{row},{column}" for row, column in played["positions"])
        rewards = " ".join(f"{reward:+.1f}" for reward in played["rewards"])
        print(f"{number}: positions {path} | rewards {rewards} | ended {played['ended']}")


def shortest_path_actions(teacher: Teacher, episode: EpisodeBatch) -> list[str]:
    """The names of the actions on a shortest path to the target, for a batch of one."""
    steps = play_to_end(teacher, episode, lambda now, _: best_actions(now.state)[0])
    return [ACTIONS[best_actions(step.before.state)[0][0]] for _, step in steps]


def describe(teacher: Teacher, episode: EpisodeBatch) -> dict[str, Any]:
    """A batch of one as plain data, in the form that `replay` reads, with its sentences."""
    scenario, types = Scenario.of_state(episode.state), teacher.language.type_names
    return {
        **scenario.to_dict(teacher.catalog),
        "target": scenario.at(int(episode.state.target[0])),
        "max_steps": teacher.world.step_limit,
        "command": teacher.text(episode.command, 0),
        "command_type": types[episode.command.type[0]],
        "question": teacher.text(episode.question, 0) or None,
        "question_type": types[episode.question.type[0]] if episode.question.type[0] >= 0 else None,
        "answer": teacher.lexicon.words[episode.question.answer[0]] if episode.question.answer[0] >= 0 else None,
    }
