"""Words in pictures: cleaned, shortened, measured."""

from __future__ import annotations

import re
import unicodedata

# Characters that XML 1.0 cannot hold, not even escaped.
_ILLEGAL = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def plain(text: str) -> str:
    """Return the text on one line, without characters that XML cannot hold."""
    return " ".join(_ILLEGAL.sub("\ufffd", text).split())


def shortened(text: str, length: int) -> str:
    """Return at most ``length`` letters of the text on one line."""
    line = plain(text)
    return line if len(line) <= length else f"{line[: length - 1]}…"


def text_width(text: str, size: float) -> float:
    """Return the approximate width of the text, a little too large: the reader's font is not known."""
    return size * 1.06 * sum(map(_letter_width, text))


def _letter_width(letter: str) -> float:
    if unicodedata.east_asian_width(letter) in {"W", "F"}:
        return 1.0
    if letter in " .,:;'|!iljIft()[]":
        return 0.36
    if letter in "mwMW@%":
        return 0.92
    return 0.7 if letter.isupper() else 0.58


def counted(count: int, noun: str) -> str:
    """Return ``1 message``, ``2 messages``."""
    return f"{count} {noun}{'' if count == 1 else 's'}"


def duration_text(seconds: float) -> str:
    """Return a time with the unit that fits: ``12 ms``, ``3.4 s``, ``5 min 2 s``, ``2 h 10 min``."""
    if seconds < 0.9995:
        return f"{seconds * 1000:.0f} ms" if seconds >= 0.001 else "under 1 ms"
    if seconds < 59.95:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"
