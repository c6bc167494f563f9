"""Looks for a secret: as it is, and as programs write such texts down."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, quote_plus


@dataclass(frozen=True, slots=True)
class Find:
    """Where a secret is, in which form."""

    where: str
    form: str
    around: str

    def __str__(self) -> str:
        return f"{self.where} ({self.form}): {self.around}"


def forms_of(secret: str) -> Mapping[str, bytes]:
    """Return the forms of a secret by name; none of them is part of another text by chance."""
    in_json = json.dumps(secret)[1:-1]
    return {
        "plain": secret.encode(),
        "json": in_json.encode(),
        "json in json": json.dumps(in_json)[1:-1].encode(),
        "percent": quote(secret, safe="").encode(),
        "percent, slashes kept": quote(secret).encode(),
        "query": quote_plus(secret).encode(),
        "repr": repr(secret)[1:-1].encode(),
        **{f"base64 at {start}": _in_base64(secret, start) for start in range(3)},
    }


def _in_base64(secret: str, start: int) -> bytes:
    """Return what stays the same of a secret in base64, whatever comes before and after it."""
    encoded = base64.b64encode(b"-" * start + secret.encode())
    return encoded[(start * 8 + 5) // 6 : -4]


def find_in(text: bytes | str, where: str, secrets: Iterable[str]) -> Iterator[Find]:
    """Yield the forms of secrets that are in a text."""
    raw = text.encode(errors="replace") if isinstance(text, str) else text
    for secret in secrets:
        for name, form in forms_of(secret).items():
            if (at := raw.find(form)) >= 0:
                yield Find(where, name, raw[max(0, at - 160) : at + len(form) + 60].decode(errors="replace"))
                break


def find_in_files(folder: Path, secrets: Iterable[str], *, but: Iterable[str] = ()) -> Iterator[Find]:
    """Yield what is found in the files of a folder, but those whose path begins so."""
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if path.is_file() and not name.startswith(tuple(but)):
            yield from find_in(path.read_bytes(), name, secrets)
