"""Messages as JSON. In those of clients every field is checked for type and size, and unknown fields are refused."""

import json
from typing import Any

from groundling.errors import InputError, nearest, quote


class Message:
    """The fields of one JSON object. Read each field by a method, then call `end` to refuse unknown ones."""

    def __init__(self, record: Any, name: str = "message") -> None:
        if not isinstance(record, dict):
            raise InputError(f"{name} must be a JSON object, got {quote(record)}")
        self._name = name
        self._record = record
        self._known: set[str] = set()

    @classmethod
    def parse(cls, text: str) -> "Message":
        try:
            return cls(json.loads(text, parse_constant=_refuse_constant))
        except (ValueError, RecursionError) as error:
            if isinstance(error, InputError):
                raise
            raise InputError("message must be valid JSON") from None

    def required(self, field: str) -> Any:
        """The unchecked value of a field that must exist."""
        if field not in self._record:
            raise InputError(f"{self._name} must have a field {field!r}")
        self._known.add(field)
        return self._record[field]

    def optional(self, field: str) -> Any:
        """The unchecked value of a field, or None if it does not exist or is null."""
        self._known.add(field)
        return self._record.get(field)

    def ignore(self, *fields: str) -> None:
        """Allow fields whose values are not used."""
        self._known.update(fields)

    def text(self, field: str, max_chars: int) -> str:
        """A string with at least one visible character."""
        value = self.required(field)
        if not isinstance(value, str) or not value.strip():
            raise InputError(f"{field} must be a non-empty string, got {quote(value)}")
        if len(value) > max_chars:
            raise InputError(f"{field} must have at most {max_chars:,} characters, got {len(value):,}")
        return value

    def integer(self, field: str, below: int) -> int:
        """An integer from 0 to `below` - 1."""
        value = self.required(field)
        if type(value) is not int or not 0 <= value < below:
            raise InputError(f"{field} must be an integer from 0 to {below - 1:,}, got {quote(value)}")
        return value

    def choice(self, field: str, choices: tuple[str, ...]) -> str:
        """One of `choices`."""
        value = self.required(field)
        if not isinstance(value, str) or value not in choices:
            raise InputError(f"{field} must be one of {', '.join(choices)}, got {quote(value)}")
        return value

    def items(self, field: str, max_items: int) -> list[Any]:
        """A list of unchecked items."""
        value = self.required(field)
        if not isinstance(value, list):
            raise InputError(f"{field} must be a list, got {quote(value)}")
        if len(value) > max_items:
            raise InputError(f"{field} must have at most {max_items} items, got {len(value):,}")
        return value

    def end(self) -> None:
        """Refuse fields that were not read."""
        for field in self._record:
            if field not in self._known:
                raise InputError(f"unknown field {quote(field)} in {self._name}{nearest(field[:40], self._known)}")


def to_json(value: Any) -> str:
    """JSON of a reply. Browsers cannot parse NaN and infinity, which a model with damaged weights computes."""
    try:
        return json.dumps(value, allow_nan=False)
    except ValueError:
        raise InputError("numbers in a reply must be finite, got NaN or infinity from the agent") from None


def _refuse_constant(name: str) -> None:
    raise InputError(f"numbers in a message must be finite, got {name}")
