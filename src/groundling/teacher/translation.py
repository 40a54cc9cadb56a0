"""[translate] of a language file: the same language in other words."""

import itertools
from typing import Any

from groundling.errors import nearest
from groundling.teacher.language_file import COLOR, DIRECTION, OBJECT, TYPE_KEYS, Source
from groundling.teacher.vocabulary import check_word, read_words


def translate(data: dict[str, Any], source: Source) -> dict[str, Any]:
    """The data with the words of [translate] replaced."""
    table = data.pop("translate", {}) if "translate" in data else {}
    if not table:
        return data
    source = source.within("translate")
    known = set(itertools.chain(*read_words(data["words"], source).values()))
    for word, new in table.items():
        if word not in known:
            raise source.error(word, f"[translate] must name words of [words], got {word!r}{nearest(word[:40], known)}")
        check_word(new, word, source)
    targets = [table.get(word, word) for word in known]
    if len(set(targets)) < len(targets):
        double = next(word for word in targets if targets.count(word) > 1)
        raise source.error(double, f"[translate] must give each word its own translation, got {double!r} twice")

    def text(phrase: Any) -> Any:
        if not isinstance(phrase, str):
            return phrase
        return " ".join(table.get(word, word) for word in phrase.split())

    words = {}
    for name, value in data["words"].items():
        if name in (OBJECT, COLOR, DIRECTION):
            pairs = value.items() if isinstance(value, dict) else ((word, word) for word in value.split())
            words[name] = {concept: table.get(word, word) for concept, word in pairs}
        else:
            words[name] = text(value)
    types = {
        name: {key: value if key in TYPE_KEYS else text(value) for key, value in row.items()}
        if isinstance(row, dict)
        else row
        for name, row in data["types"].items()
    }
    lists = {
        table_name: {
            name: [text(phrase) for phrase in phrases] if isinstance(phrases, list) else phrases
            for name, phrases in data.get(table_name, {}).items()
        }
        for table_name in ("phrases", "frames")
    }
    return {**data, **lists, "nothing": text(data["nothing"]), "words": words, "types": types}
