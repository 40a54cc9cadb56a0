"""Limits on what a client may send. The defaults suit one machine with many visitors."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """Limits of the server."""

    tcp_connections: int = 512
    """Maximum number of open TCP connections; fewer if the system allows few open files."""
    head_seconds: float = 10.0
    """Seconds within which a request head must be complete; otherwise its TCP connection is closed."""
    write_seconds: float = 60.0
    """Seconds within which a client must read what was sent to it; otherwise its TCP connection is closed."""
    wrong_tokens_per_minute: int = 10
    """Maximum number of wrong tokens from one address."""
    message_bytes: int = 1024 * 1024
    """Maximum length of a message; a longer one closes the connection."""
    messages_per_second: float = 40.0
    """Maximum average message rate of a connection."""
    burst: int = 80
    """Maximum number of messages that a connection may send at once."""
    frames_per_second: float = 100.0
    """Maximum average rate of pings, pongs and fragments of messages; more close the connection."""
    frame_burst: int = 1000
    """Maximum number of pings, pongs and fragments that a connection may send at once."""
    queued_messages: int = 8
    """Maximum number of messages read from a connection before earlier ones are answered."""
    connections: int = 64
    """Maximum number of open websocket connections."""
    idle_seconds: float = 900.0
    """Seconds without a message after which a connection is closed."""
    idle_seconds_at_maximum: float = 60.0
    """Seconds without a message after which a connection may be closed for a new one, at the maximum number."""
    threads: int = 32
    """Worker threads that answer messages; more threads allow larger inference batches."""
    sentence_chars: int = 200
    """Maximum number of characters of a sentence."""
    verdict_chars: int = 300
    """Maximum number of characters of the verdict in an exported walk."""
    sentence_words: int = 20
    """Maximum number of words of a sentence."""
    walk_steps: int = 64
    """Maximum number of positions of an exported walk."""
    name_chars: int = 20
    """Maximum number of characters of a taught word or of a drawing's name."""
    objects: int = 16
    """Maximum number of objects in one scene, unless random worlds have more."""
    drawings: int = 4
    """Maximum number of user-drawn object classes in one scene."""
    upload_bytes: int = 256 * 1024
    """Maximum file size of an uploaded image."""
    upload_pixels: int = 1024
    """Maximum side length of an uploaded image."""
    taught_words: int = 8
    """Maximum number of words taught in one connection."""
    examples: int = 10
    """Maximum number of examples per taught word."""
