"""Recorded replies in files of JSON lines: each message once, and a kill tears at most the last line."""

from __future__ import annotations

import fcntl
import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from operator import eq
from pathlib import Path
from typing import BinaryIO, cast

from agentic.core.errors import AgenticError
from agentic.core.ids import new_id
from agentic.core.llm.adapter import ModelCapabilities, StructuredMode
from agentic.core.llm.requests import ModelReply, ModelRequest, canonical
from agentic.core.masking import mask_known, masked_data, told
from agentic.core.private import open_private
from agentic.core.records import record
from agentic.core.types import JSONValue

RECORDING_FORMAT = 1
"""Version of the files; one with another version is not read."""

_ENDING = ".jsonl"
_BLOCK_BYTES = 64 * 1024
_SHOWN_CHARS = 40


class BrokenRecordingError(AgenticError, ValueError):
    """A file of recorded replies cannot be read."""

    def __init__(self, place: str, reason: str) -> None:
        super().__init__(
            f"{place} is not a recording: {reason}; mend it, or delete the file and record again"
        )
        self.place = place


class MissingRecordingError(AgenticError, LookupError):
    """A request has no recorded reply.

    Attributes:
        path: Of the recordings.
        position: The first message that differs from the nearest recording, from 1; None if another part
            differs, or no request was recorded.
    """

    is_retriable = False

    def __init__(self, path: Path, difference: str, position: int | None = None) -> None:
        super().__init__(
            f"no recorded reply in {str(path)!r} fits this request: {difference}; run it once with "
            "mode='auto' to record the reply"
        )
        self.path = str(path)
        self.position = position


@record(kw_only=True)
class _Recording:
    """A recorded reply: the digests of the parts of its request, and its place."""

    parts: Sequence[str]
    reply: ModelReply
    place: str


class Recordings:
    """The replies of one model, in a file or in all ``*.jsonl`` files of a folder.

    A file holds a header, each part of a request (instructions, tools, messages, the rest) once under its
    digest, and for each reply the digests of its request. Secrets that this process has read are masked.

    Attributes:
        path: The file or the folder: a path that ends in ``.jsonl`` is a file.
        name: ``provider:model`` of the recorded model; None if nothing is recorded.
        capabilities: Of the recorded model, so that requests are built alike without it.

    Raises:
        BrokenRecordingError: A file cannot be read.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.name: str | None = None
        self.capabilities = ModelCapabilities()
        self._parts: dict[str, str] = {}
        self._replies: dict[str, list[_Recording]] = {}
        self._target = path if path.suffix == _ENDING else path / f"{new_id()}{_ENDING}"
        self._written: set[str] = set()
        for file in self._files():
            self._read(file)
        if self._target == path:
            self._written |= self._parts.keys()

    def __len__(self) -> int:
        return sum(map(len, self._replies.values()))

    def of(self, digest: str) -> Sequence[ModelReply]:
        """Return the replies of a request, in the order recorded."""
        return [recording.reply for recording in self._replies.get(digest, ())]

    def lines_of(self, request: ModelRequest, reply: ModelReply, *, replaces: bool) -> tuple[str, ...]:
        """Add a reply in memory, and return the lines to write for it.

        Args:
            request: The request.
            reply: Its reply.
            replaces: Whether the earlier replies of this request are outdated.
        """
        parts = _digested(request)
        new = {digest: value for digest, value in parts.items() if digest not in self._written}
        self._written |= new.keys()
        self._parts |= {digest: mask_known(canonical(told(value))) for digest, value in new.items()}
        order = [_digest(part) for part in request.key_parts()]
        self._keep(request.digest, _Recording(parts=order, reply=reply, place="this run"), replaces=replaces)
        line: dict[str, JSONValue] = {"request": request.digest, "parts": [*order], "reply": reply.to_json()}
        if replaces:
            line["replaces"] = True
        written: list[dict[str, JSONValue]] = [
            {"part": digest, "value": told(value)} for digest, value in new.items()
        ]
        return tuple(_line(masked_data(one)) for one in [*written, line])

    def append(self, lines: Iterable[str], name: str, capabilities: ModelCapabilities) -> None:
        """Write lines; a file that is new begins with a header. Blocks; safe beside other processes."""
        self._target.parent.mkdir(parents=True, exist_ok=True)
        with open(self._target, "ab+", opener=open_private) as file:  # Path.open has no opener
            fcntl.flock(file, fcntl.LOCK_EX)
            _cut_torn_end(file)
            if file.tell() == 0:
                file.write(_line(_header(name, capabilities)).encode())
            file.write("".join(lines).encode("utf-8", "backslashreplace"))

    def missing(self, request: ModelRequest) -> MissingRecordingError:
        """Return the error for a request without a further reply: it names the first difference."""
        if replies := self._replies.get(request.digest):
            return MissingRecordingError(
                self.path, f"it was recorded {len(replies)} times, and is made again"
            )
        wanted = [_digest(part) for part in request.key_parts()]
        nearest = max(
            (recording for replies in self._replies.values() for recording in replies),
            key=lambda found: _likeness(found.parts, wanted),
            default=None,
        )
        if nearest is None:
            return MissingRecordingError(self.path, "nothing is recorded there")
        return self._differing(request, wanted, nearest)

    def _differing(
        self, request: ModelRequest, wanted: Sequence[str], nearest: _Recording
    ) -> MissingRecordingError:
        of = f"the nearest recording ({nearest.place})"
        for index, name in ((0, "the instructions differ"), (1, "the tools differ")):
            if wanted[index] != nearest.parts[index]:
                shown = self._shown(nearest.parts[index], request.key_parts()[index])
                return MissingRecordingError(self.path, f"{name} from {of}: {shown}")
        ours, theirs = wanted[2:-1], nearest.parts[2:-1]
        position = next(
            (number for number, both in enumerate(zip(ours, theirs, strict=False)) if both[0] != both[1]),
            min(len(ours), len(theirs)),
        )
        if position < min(len(ours), len(theirs)):
            shown = self._shown(theirs[position], request.key_parts()[position + 2])
            text = f"message {position + 1} ({request.messages[position].role}) differs from {of}: {shown}"
            return MissingRecordingError(self.path, text, position + 1)
        if len(ours) != len(theirs):
            text = f"it has {len(ours)} messages, {of} has {len(theirs)}; those they share are the same"
            return MissingRecordingError(self.path, text, position + 1)
        shown = self._shown(nearest.parts[-1], request.key_parts()[-1])
        return MissingRecordingError(
            self.path, f"the settings or the output format differ from {of}: {shown}"
        )

    def _shown(self, recorded: str, value: JSONValue) -> str:
        before, now = self._parts.get(recorded, ""), mask_known(canonical(told(value)))
        if before == now:
            return "by a value that is masked as a secret"
        at = next(
            (number for number, both in enumerate(zip(before, now, strict=False)) if both[0] != both[1]),
            min(len(before), len(now)),
        )
        begin = max(at - _SHOWN_CHARS // 2, 0)
        return f"recorded {before[begin : at + _SHOWN_CHARS]!r}, now {now[begin : at + _SHOWN_CHARS]!r}"

    def _files(self) -> list[Path]:
        if self.path.suffix == _ENDING:
            return [self.path] if self.path.exists() else []
        return sorted(self.path.glob(f"*{_ENDING}"))

    def _read(self, file: Path) -> None:
        whole, _, _torn = file.read_bytes().rpartition(b"\n")
        for number, line in enumerate(whole.split(b"\n") if whole else (), 1):
            place = f"{file.name}, line {number}"
            try:
                self._take(json.loads(line), place, is_first=number == 1)
            except BrokenRecordingError:
                raise
            except (ValueError, LookupError, TypeError, RecursionError) as exc:
                raise BrokenRecordingError(f"{file}, line {number}", type(exc).__name__) from exc

    def _take(self, line: Mapping[str, JSONValue], place: str, *, is_first: bool) -> None:
        if is_first:
            self._take_header(line, place)
        elif "part" in line:
            self._parts[cast(str, line["part"])] = canonical(line["value"])
        else:
            recording = _Recording(
                parts=cast("list[str]", line["parts"]),
                reply=ModelReply.from_json(line["reply"]),
                place=place,
            )
            self._keep(cast(str, line["request"]), recording, replaces=line.get("replaces") is True)

    def _take_header(self, line: Mapping[str, JSONValue], place: str) -> None:
        if line.get("format") != RECORDING_FORMAT:
            raise BrokenRecordingError(place, f"its format is {line.get('format')!r}, not {RECORDING_FORMAT}")
        if self.name not in (None, line["model"]):
            raise BrokenRecordingError(
                place, f"it is of {line['model']}, the others there are of {self.name}"
            )
        self.name = cast(str, line["model"])
        found = cast("Mapping[str, JSONValue]", line["capabilities"])
        self.capabilities = ModelCapabilities(
            structured=cast(StructuredMode, found["structured"]),
            has_tools=found["has_tools"] is True,
            context_tokens=cast("int | None", found["context_tokens"]),
        )

    def _keep(self, digest: str, recording: _Recording, *, replaces: bool) -> None:
        if replaces:
            self._replies[digest] = []
        self._replies.setdefault(digest, []).append(recording)


def _digested(request: ModelRequest) -> dict[str, JSONValue]:
    return {_digest(part): part for part in request.key_parts()}


def _digest(part: JSONValue) -> str:
    return hashlib.sha256(canonical(part).encode()).hexdigest()[:32]


def _likeness(parts: Sequence[str], wanted: Sequence[str]) -> tuple[int, int]:
    return sum(map(eq, parts, wanted)) + (parts[-1] == wanted[-1]), -abs(len(parts) - len(wanted))


def _header(name: str, capabilities: ModelCapabilities) -> dict[str, JSONValue]:
    return {
        "format": RECORDING_FORMAT,
        "model": name,
        "capabilities": {
            "structured": capabilities.structured,
            "has_tools": capabilities.has_tools,
            "context_tokens": capabilities.context_tokens,
        },
    }


def _line(value: JSONValue) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")) + "\n"


def _cut_torn_end(file: BinaryIO) -> None:
    """Remove a last line without an end: its writer was killed. The file is locked."""
    size = position = file.seek(0, 2)
    while position > 0:
        begin = max(position - _BLOCK_BYTES, 0)
        file.seek(begin)
        found = file.read(position - begin).rfind(b"\n")
        if found >= 0:
            position = begin + found + 1
            break
        position = begin
    if position < size:
        file.truncate(position)
    file.seek(0, 2)
