"""Frozen test suites: the same episodes for everyone, as settings and seeds, with a hash of what they generate.

Of the n sentence types that its split allows, episode i of a suite has type i mod n, and index i div n under the seed
of that type; so the small size is the beginning of the full one. A command is played to its end; a question is answered
once. `suites-1.json` holds the settings and, for each size, a hash of the maps, the prompts, and what an oracle reads,
does and gets: a change of world, teacher or text layer is noticed.
"""

import hashlib
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import cache, cached_property
from importlib import resources
from typing import Any

from groundling import seeds
from groundling.env_options import EnvOptions
from groundling.errors import InputError, check_choice, quote
from groundling.read_json import from_plain, parse_json
from groundling.suites.players import oracle
from groundling.teacher.teacher import Teacher
from groundling.teacher.types import SamplingConfig
from groundling.text import TextEpisode, message_text, show
from groundling.world.scenario import Scenario

FORMAT = "groundling-suites-1"
VERSION = 1
SIZES = {"small": 200, "full": 2000}
_FILE = f"suites-{VERSION}.json"
_SEEDS_PER_SUITE = 1000


@dataclass(frozen=True)
class SuiteEpisode:
    """Where an episode of a suite comes from."""

    type: str
    task: str
    """`nav` or `qa`."""
    seed: int
    index: int


@dataclass(frozen=True)
class Suite:
    """A list of episodes."""

    name: str
    size: str
    options: dict[str, Any]
    """The options of the environment."""
    examples: int
    """Example questions in each prompt, from which invented words can be learned."""
    number: int
    """Which of the suites it is; decides the seeds."""
    hash: str
    """SHA-256 of its content when it was frozen."""

    @classmethod
    @cache
    def load(cls, name: str, size: str = "small") -> "Suite":
        """A suite of the frozen file."""
        frozen = _read()
        check_choice("suite", name, frozen)
        check_choice("size", size, SIZES)
        entry = frozen[name]
        return cls(name, size, entry["options"], entry["examples"], [*frozen].index(name), entry["hash"].get(size, ""))

    def __len__(self) -> int:
        return SIZES[self.size]

    @cached_property
    def teacher(self) -> Teacher:
        """The teacher of all its sentence types."""
        return EnvOptions.of(self.options).teacher()

    @cached_property
    def _of_type(self) -> dict[str, Teacher]:
        sampling = {name: SamplingConfig(type_balanced_fraction=1.0, types=(name,)) for name in self.teacher.types}
        return {name: self.teacher.with_sampling(config) for name, config in sampling.items()}

    def __getitem__(self, i: int) -> SuiteEpisode:
        if not 0 <= i < len(self):
            raise IndexError(f"episode must be from 0 to {len(self) - 1}, got {i}")
        types, language = self.teacher.types, self.teacher.language
        type_ = types[i % len(types)]
        seed = seeds.SUITES + _SEEDS_PER_SUITE * self.number + language.type_names.index(type_)
        return SuiteEpisode(type_, "nav" if type_ in language.commands else "qa", seed, i // len(types))

    def __iter__(self) -> Iterator[SuiteEpisode]:
        return map(self.__getitem__, range(len(self)))

    def begin(self, i: int, view: str = "sentences") -> TextEpisode:
        """Episode `i` at its first step."""
        episode = self[i]
        teacher = self._of_type[episode.type]
        return TextEpisode(teacher, episode.seed, episode.index, episode.task, view, self.examples)

    def content_hash(self) -> str:
        """SHA-256 of what is generated now: maps, prompts, and what an oracle reads, does and gets."""
        digest = hashlib.sha256(self.teacher.catalog.hash.encode())
        for i in range(len(self)):
            game = self.begin(i)
            state, catalog = game.episode.state, game.teacher.catalog
            content = [self[i].type, Scenario.of_state(state).to_dict(catalog), show(state, "grid", catalog)[0]]
            while not game.done:
                game.reply(oracle(game))
            digest.update(json.dumps([*content, [*map(message_text, game.messages)], round(game.reward, 3)]).encode())
        return digest.hexdigest()

    def check(self) -> None:
        """Raise if the suite generates other episodes than when it was frozen."""
        if self.content_hash() != self.hash:
            raise InputError(
                f"suite {self.name} ({self.size}) must generate the episodes that were frozen, got others: world, "
                "teacher or text layer changed; use the version of groundling whose results you compare with"
            )


def suite_names() -> tuple[str, ...]:
    """The names of all suites."""
    return tuple(_read())


def freeze() -> str:
    """The content of the suites file with the hashes of what is generated now; for a new version of the suites."""
    entries = {}
    for name, entry in _read().items():
        entries[name] = {**entry, "hash": {size: Suite.load(name, size).content_hash() for size in SIZES}}
    return json.dumps({"format": FORMAT, "version": VERSION, "suites": entries}, indent=1) + "\n"


def _read() -> dict[str, Any]:
    return read_suites(resources.files("groundling.suites").joinpath(_FILE).read_text("utf-8"), _FILE)


def read_suites(text: str, name: str) -> dict[str, Any]:
    """The suites in the text of a suites file, checked; `name` is that of the file, for errors."""
    record = parse_json(text, f"suites file {name}")
    form = record.get("format") if isinstance(record, dict) else None
    if form != FORMAT:
        raise InputError(f"suites file {name}: format must be {FORMAT!r}, got {quote(form)}")
    suites = from_plain(_PlainSuites, record, f"suites file {name}").suites
    return {key: asdict(entry) for key, entry in suites.items()}


@dataclass(frozen=True)
class _PlainSuite:
    """An entry of a suites file."""

    options: dict[str, Any]
    examples: int
    hash: dict[str, str]


@dataclass(frozen=True)
class _PlainSuites:
    """A suites file."""

    format: str
    version: int
    suites: dict[str, _PlainSuite]


if __name__ == "__main__":
    print(freeze(), end="")
