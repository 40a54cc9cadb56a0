"""How much of everything a client may have. The defaults suit one machine that many people look at."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """Limits of the server."""

    message_bytes: int = 1024 * 1024
    """Longest message; a longer one closes the connection."""
    messages_per_second: float = 40.0
    """Of one connection, on average."""
    burst: int = 80
    """Messages that a connection may send at once."""
    connections: int = 64
    """Open at the same time."""
    idle_seconds: float = 900.0
    """A connection that sent nothing for so long is dropped."""
    crowded_idle_seconds: float = 60.0
    """The same, when there is no room for a new one."""
    threads: int = 32
    """That answer messages; more of them let more thoughts be thought together."""
    sentence_chars: int = 200
    sentence_words: int = 20
    walk_steps: int = 64
    """Of an exported connection."""
    name_chars: int = 20
    """Of a word that is taught, or of a drawing's name."""
    drawings: int = 4
    """Pictures of the user's own in one world."""
    upload_bytes: int = 256 * 1024
    """Of an uploaded picture."""
    upload_pixels: int = 1024
    """Longest side of an uploaded picture."""
    taught_words: int = 8
    """Words taught in one connection."""
    examples: int = 10
    """Of one word."""
