"""A gallery of walks: HTML files that play without a server, and an index page that any static host serves."""

from collections.abc import Iterator
from dataclasses import replace
from html import escape
from pathlib import Path
from typing import NamedTuple

from groundling.atomic_write import atomic_write
from groundling.errors import InputError, check_int
from groundling.page.app_state import AppState
from groundling.page.client_agent import ClientAgent
from groundling.page.examples import example_sentences
from groundling.page.export import PROJECT, to_html
from groundling.page.static_files import style
from groundling.page.walk import Runner, record_walk, walk_path
from groundling.seeds import VALIDATION

MAX_WALKS = 100
_FIRST_SEED = VALIDATION
_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="description" content="{project}">
<title>Groundling: gallery</title>
<style>
{style}
</style>
</head>
<body>
<header class="top"><h1>Groundling</h1><p class="tagline">{tagline}</p></header>
<main><h2>Walks of the agent “{agent}”</h2>
<p class="note">Each page plays in the browser, without a server.</p>
<ol class="gallery">
{items}
</ol></main>
</body>
</html>
"""


class Entry(NamedTuple):
    """A file of the gallery, with the sentence and the verdict."""

    name: str
    sentence: str
    verdict: str


def write_gallery(state: AppState, out: Path, count: int) -> list[Entry]:
    """Write `count` walks of the first agent, one world and sentence each, and `index.html`."""
    check_int("count", count, 1, MAX_WALKS)
    entries = []
    try:
        out.mkdir(parents=True, exist_ok=True)
        for entry, html in _walks(state, count):
            atomic_write(out / entry.name, html.encode())
            entries.append(entry)
        atomic_write(out / "index.html", _index(state, entries).encode())
    except OSError as error:
        raise InputError(f"folder {out}: cannot be written ({error.strerror})") from error
    return entries


def _walks(state: AppState, count: int) -> Iterator[tuple[Entry, str]]:
    """Walks with sentences of all types in turn; the worlds are random."""
    runner = Runner(ClientAgent.of(state.agents[0]), state.inference, state.limits)
    for k in range(count):
        scene, _, _ = state.sample_world(_FIRST_SEED + k)
        examples = example_sentences(runner.agent, scene)
        example = examples[(3 * k) % len(examples)]
        sentence = example["sentence"]
        path, reached = walk_path(runner, scene, sentence)
        recording = record_walk(runner, scene, sentence, path)
        if example["kind"] == "command":
            steps = f"{len(path) - 1} {'step' if len(path) == 2 else 'steps'}"
            verdict = f"Success: target reached in {steps}." if reached else f"Failure: not reached in {steps}."
        else:
            answer, right = recording.steps[0]["explanation"]["answers"][0]["word"], recording.check.answer
            verdict = f"“{answer}”: correct." if answer == right else f"“{answer}”: wrong, it is “{right}”."
        if example["held_out"]:
            verdict += f" No command or question of its training contained “{example['held_out'][0]}”."
        entry = Entry(f"walk-{k + 1:02d}.html", sentence, verdict)
        yield entry, to_html(replace(recording, verdict=verdict))


def _index(state: AppState, entries: list[Entry]) -> str:
    agent = state.agents[0]
    held_out, objects = len(agent.held_out_words), len(agent.trained.lexicon.objects)
    tagline = PROJECT + "."
    if held_out:
        tagline += f" {held_out} of its {objects} object nouns occurred in no command and no question of its training."
    items = "\n".join(
        f'<li><a href="{entry.name}">{escape(entry.sentence)}</a> <span>{escape(entry.verdict)}</span></li>'
        for entry in entries
    )
    return _PAGE.format(project=PROJECT, style=style(), tagline=tagline, agent=escape(agent.name), items=items)
