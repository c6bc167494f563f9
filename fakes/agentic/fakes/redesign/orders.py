"""Redesigns on order: which pages, from which request on, on which share of the pages."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from functools import lru_cache
from hashlib import blake2b
from threading import Lock

from pydantic import BaseModel, ConfigDict, Field, NonNegativeInt

from agentic.fakes.pages import Page, Site, json_page
from agentic.fakes.redesign.operators import LABEL, Change, changed
from agentic.fakes.redesign.parts import (
    SITE_CHANGES,
    PagePartChange,
    SiteChange,
    changed_data,
    former_path,
    with_moved_links,
)
from agentic.fakes.redesign.tree import parse


class Redesign(BaseModel):
    """How pages whose path fits ``path`` look from now on; the newest order that fits counts."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    path: str = Field(
        pattern=r"^[/*]", description="Pattern of paths, as in /shop/product/*; * also crosses slashes."
    )
    changes: tuple[Change | PagePartChange | SiteChange, ...] = Field(
        default=(), description="Operators, in their order; none: as at first."
    )
    seed: int = Field(default=1, description="Chooses hashed classes and the like.")
    after: NonNegativeInt = Field(default=0, description="Requests that still get the old pages.")
    share: float = Field(default=1.0, ge=0, le=1, description="Share of the pages, always the same ones.")


class Redesigns:
    """The orders of now; may be used from another thread than the server's."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._orders: list[tuple[Redesign, int]] = []

    def add(self, redesign: Redesign) -> None:
        """Redesign pages from now on."""
        with self._lock:
            self._orders.insert(0, (redesign, redesign.after))

    def of(self, path: str) -> Redesign | None:
        """Return the redesign of a page that is asked for; None if it is as at first."""
        with self._lock:
            for index, (redesign, left) in enumerate(self._orders):
                if not fnmatchcase(path, redesign.path):
                    continue
                if left:
                    self._orders[index] = (redesign, left - 1)
                    continue
                return redesign if redesign.changes and _chance(path) < redesign.share else None
        return None

    def moves(self) -> list[Redesign]:
        """Return the orders that move pages to other addresses."""
        with self._lock:
            return [order for order, left in self._orders if "move_pages" in order.changes and not left]

    def reset(self) -> None:
        """Undo all redesigns."""
        with self._lock:
            self._orders.clear()


class RedesignedSite:
    """A site whose pages are redesigned on order.

    Args:
        site: The site.
        mount: Where it is mounted: ``/shop``.
        redesigns: The orders.
    """

    def __init__(self, site: Site, mount: str, redesigns: Redesigns) -> None:
        self._site = site
        self._mount = mount
        self._redesigns = redesigns

    def page(self, path: str, query: str, base: str) -> Page | None:
        """See :meth:`Site.page`."""
        moves = self._redesigns.moves()
        if any(fnmatchcase(f"{self._mount}{path}", move.path) for move in moves):
            return None
        page = self._site.page(self._former(path, moves), query, base)
        if page is None:
            return page
        for move in moves:
            folder = move.path.removeprefix(f"{self._mount}/").partition("/")[0]
            page = replace(page, body=with_moved_links(page.body, folder, move.seed))
        redesign = self._redesigns.of(f"{self._mount}{path}")
        return page if redesign is None else _changed_page(page, redesign)

    def _former(self, path: str, moves: Sequence[Redesign]) -> str:
        """Return where the page at a path was at first."""
        for move in moves:
            former = former_path(path, move.seed)
            if former is not None and fnmatchcase(f"{self._mount}{former}", move.path):
                return former
        return path


def _changed_page(page: Page, redesign: Redesign) -> Page:
    if page.content_type.startswith("application/json") and "rename_keys" in redesign.changes:
        return json_page(changed_data(json.loads(page.body)), page.modified)
    layout = tuple(change for change in redesign.changes if change not in SITE_CHANGES)
    if not layout or not page.content_type.startswith("text/html"):
        return page
    return replace(page, body=_redesigned(page.body, layout, redesign.seed))


@lru_cache(maxsize=1_024)
def _redesigned(body: bytes, changes: tuple[Change | PagePartChange, ...], seed: int) -> bytes:
    """Return a page after a redesign; in the shop, the class of a field's node is its label."""
    root = parse(body.decode())
    for element in root.walk():
        if element.classes and not element.elements and element.tag != "a":
            element.attributes[LABEL] = element.classes[0]
    done = parse(changed(root.markup(), changes, seed))
    for element in done.walk():
        element.attributes.pop(LABEL, None)
    return done.markup().encode()


def _chance(path: str) -> float:
    return int.from_bytes(blake2b(path.encode(), digest_size=4).digest()) / 2**32
