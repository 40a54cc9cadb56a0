"""Messages of clients, read with suspicion: each field is checked for type and size, and none is left over."""

import json
from typing import Any

from groundling.errors import InputError, nearest
from groundling.world.scenario import quote


class Message:
    """The fields of one JSON object; whoever reads it takes each field, then calls `end`."""

    def __init__(self, record: Any, what: str = "a message") -> None:
        if not isinstance(record, dict):
            raise InputError(f"{what} is a JSON object, not {quote(record)}")
        self._what = what
        self._record = record
        self._taken: set[str] = set()

    @classmethod
    def parse(cls, text: str) -> "Message":
        try:
            return cls(json.loads(text, parse_constant=_refuse_constant))
        except (ValueError, RecursionError) as error:
            if isinstance(error, InputError):
                raise
            raise InputError("a message is JSON, and this is none") from None

    def take(self, name: str) -> Any:
        """A field that must be there."""
        if name not in self._record:
            raise InputError(f"{name!r} is missing in {self._what}")
        self._taken.add(name)
        return self._record[name]

    def has(self, name: str) -> bool:
        """Whether an optional field is there; null counts as none."""
        self._taken.add(name)
        return self._record.get(name) is not None

    def text(self, name: str, most: int) -> str:
        value = self.take(name)
        if not isinstance(value, str) or not value.strip():
            raise InputError(f"{name} is a text, not {quote(value)}")
        if len(value) > most:
            raise InputError(f"{name} of {len(value):,} letters: {most:,} at the most")
        return value

    def whole(self, name: str, below: int) -> int:
        value = self.take(name)
        if type(value) is not int or not 0 <= value < below:
            raise InputError(f"{name} {quote(value)}: it is a whole number, 0 or more and below {below:,}")
        return value

    def one_of(self, name: str, choices: tuple[str, ...]) -> str:
        value = self.take(name)
        if not isinstance(value, str) or value not in choices:
            raise InputError(f"{name} {quote(value)}: it is one of {', '.join(choices)}")
        return value

    def items(self, name: str, most: int) -> list[Any]:
        value = self.take(name)
        if not isinstance(value, list) or len(value) > most:
            raise InputError(f"{name} {quote(value)}: it is a list of {most} at the most")
        return value

    def end(self) -> None:
        """Refuse what nobody asked for."""
        for name in self._record:
            if name not in self._taken:
                raise InputError(f"unknown field {quote(name)} in {self._what}{nearest(name[:40], self._taken)}")


def _refuse_constant(name: str) -> None:
    raise InputError(f"{name} in a message: numbers are finite")
