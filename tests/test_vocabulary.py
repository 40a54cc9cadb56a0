"""The project speaks the field's language: old words of its former dialect, and British spellings, do not come back."""

import re
from pathlib import Path

ROOT = Path(__file__).parent.parent
OLD_WORDS = re.compile(
    r"""\b(sessions? | mishear\w* | commands\ done | questions\ right | as[_ ]triggered | insides? | insight\w*
    | souvenir\w* | pupils? | residents? | shipped | learnt | colours?\w* | centred? | neighbours?\w* | optimis\w+
    | initialis\w+ | generalis\w+ | normalis\w+ | behaviours?\w* | catalogues? | so\ many | but\ for
    | who\ answers | to\ and\ fro | young\ agent | plain\ twin | lessons | of_each_type | chance\.random)\b""",
    re.IGNORECASE | re.VERBOSE,
)
ALLOWED = re.compile(
    r"""scope="session" | WebSocketTestSession | inside\ (the|a|an|it|one)\b | \binside\ = | not\ inside""",
    re.VERBOSE,
)
EXCEPT = ("docs/glossary.md", "CHANGELOG.md", "tests/test_vocabulary.py", "src/groundling/agent/legacy.py")


def texts() -> list[Path]:
    patterns = ["*.md", "docs/**/*.md", "*/README.md", "Makefile", "pyproject.toml"]
    patterns += [f"src/**/*.{ending}" for ending in ("py", "js", "html", "toml")]
    patterns += [f"{folder}/**/*.py" for folder in ("tests", "examples", "icons", "fuzz")]
    found = sorted({path for pattern in patterns for path in ROOT.glob(pattern)})
    return [path for path in found if str(path.relative_to(ROOT)) not in EXCEPT]


def test_old_words_do_not_come_back() -> None:
    assert len(texts()) > 100
    found = [
        f"{path.relative_to(ROOT)}, line {number}: {match[0]!r} in {line.strip()!r}"
        for path in texts()
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1)
        for match in OLD_WORDS.finditer(ALLOWED.sub("", line))
    ]
    assert not found, "\n".join(found)
