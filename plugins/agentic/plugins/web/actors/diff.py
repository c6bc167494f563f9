"""The actor that tells what has changed since it last looked."""

from __future__ import annotations

import base64
import hashlib
import zlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from agentic.core.actors import Actor, ActorContext, ActorError, FromResults, Page
from agentic.core.types import JSONValue
from agentic.plugins.web.reading.html import readable
from agentic.plugins.web.reading.selectors import Selector

MAX_KEPT_BYTES = 64 * 1024  # compressed: some hundred thousand characters


class DiffInput(BaseModel):
    """What to compare with what it was."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    key: str | None = Field(
        default=None, min_length=1, description="Key of the stored version; default: the page's URL."
    )
    content: str | None = Field(default=None, description="Text to compare, instead of a page.")
    page: Annotated[Page | None, FromResults()] = Field(default=None, description="Page to compare.")
    selector: Selector | None = Field(default=None, description="Compare these elements of the page only.")


class DiffOutput(BaseModel):
    """What has changed.

    Lines are counted, not placed: one that only moved is neither added nor removed, though the text has
    changed.

    Attributes:
        key: What it is remembered under.
        is_new: Nothing was remembered.
        changed: It is not what it was; false if it is new.
        added: Lines that are new.
        removed: Lines that are gone.
        similarity: 1.0 for the same lines, 0.0 for none in common; None if the earlier text was too long to
            keep.
        content_hash: SHA-256 of the text, hex.
    """

    model_config = ConfigDict(frozen=True)

    key: str
    is_new: bool
    changed: bool
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    similarity: float | None = None
    content_hash: str


class DiffActor(Actor[DiffInput, DiffOutput]):
    """Compares a text with its last version, and stores the new one."""

    name = "diff"
    version = "1"
    has_effect = True
    Input = DiffInput
    Output = DiffOutput
    failure_classes = frozenset({"empty", "not_html", "selector_missing", "too_large"})

    async def run(self, ctx: ActorContext, given: DiffInput, /) -> DiffOutput:
        """Return the differences."""
        lines = lines_of(given)
        if (key := given.key or (given.page.final_url if given.page else None)) is None:
            raise ActorError("the text has no source; give `diff` a key", failure_class="empty")
        place = f"diff:{key}"
        # Asked for once: a call that is made again must not find what it has itself remembered.
        earlier = await ctx.once(place, lambda: ctx.memory.get(place))
        now = remembered(lines)
        await ctx.memory.put(place, now)
        return compare(key, earlier, now, lines)


def lines_of(given: DiffInput) -> list[str]:
    """Return the lines to compare, blanks collapsed, without empty ones.

    Raises:
        ActorError: There is no text (``empty``), or the selector fits nothing (``selector_missing``).
    """
    if given.content is not None:
        return _plain(given.content.splitlines())
    if given.page is None:
        raise ActorError("nothing to compare; give `diff` a page or content", failure_class="empty")
    if given.page.content_type and not given.page.is_html and given.selector is None:
        return _plain(given.page.text.splitlines())
    document = readable(given.page)
    nodes = document.select(given.selector or "body")
    if given.selector is not None and not nodes:
        message = f"{given.selector!r} matches nothing on {given.page.final_url}"
        raise ActorError(message, failure_class="selector_missing", status=given.page.status)
    return _plain(line for node in nodes for text in node.strings for line in text.splitlines())


def remembered(lines: Sequence[str]) -> dict[str, JSONValue]:
    """Return what is remembered of a text: its hash and, unless it is too long, itself."""
    text = "\n".join(lines).encode()
    packed = zlib.compress(text, 9)
    kept = base64.b85encode(packed).decode() if len(packed) <= MAX_KEPT_BYTES else None
    return {"hash": hashlib.sha256(text).hexdigest(), "text": kept}


def compare(key: str, earlier: JSONValue, now: Mapping[str, JSONValue], lines: Sequence[str]) -> DiffOutput:
    """Return what has changed from what was remembered to what is remembered now."""
    digest = str(now["hash"])
    if not isinstance(earlier, Mapping):
        return DiffOutput(key=key, is_new=True, changed=False, content_hash=digest)
    was = _unpacked(earlier.get("text"))
    if earlier.get("hash") == digest:
        return DiffOutput(key=key, is_new=False, changed=False, similarity=1.0, content_hash=digest)
    if was is None:
        return DiffOutput(key=key, is_new=False, changed=True, content_hash=digest)
    before, after = Counter(was), Counter(lines)
    common = (before & after).total()
    return DiffOutput(
        key=key,
        is_new=False,
        changed=True,
        added=_beyond(lines, before),
        removed=_beyond(was, after),
        similarity=round(2 * common / ((len(was) + len(lines)) or 1), 4),
        content_hash=digest,
    )


def _beyond(lines: Sequence[str], known: Counter[str]) -> tuple[str, ...]:
    """Return the lines that are not in ``known``, or not so often, in their order."""
    left = known.copy()
    found = []
    for line in lines:
        if left[line] > 0:
            left[line] -= 1
        else:
            found.append(line)
    return tuple(found)


def _unpacked(kept: JSONValue) -> list[str] | None:
    if not isinstance(kept, str):
        return None
    return zlib.decompress(base64.b85decode(kept)).decode().splitlines()


def _plain(lines: Iterable[str]) -> list[str]:
    return [line for each in lines if (line := " ".join(each.split()))]
