"""Redesigns on order: which pages, from which request on, on which share of the pages."""

from __future__ import annotations

from fnmatch import fnmatchcase
from functools import lru_cache
from hashlib import blake2b
from threading import Lock

from pydantic import BaseModel, ConfigDict, Field, NonNegativeInt

from agentic.fakes.pages import Page, Site
from agentic.fakes.redesign.operators import LABEL, Change, changed
from agentic.fakes.redesign.tree import parse


class Redesign(BaseModel):
    """How pages whose path fits ``path`` look from now on; the newest order that fits counts."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    path: str = Field(
        pattern=r"^[/*]", description="Pattern of paths, as in /shop/product/*; * also crosses slashes."
    )
    changes: tuple[Change, ...] = Field(
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
        page = self._site.page(path, query, base)
        redesign = self._redesigns.of(f"{self._mount}{path}")
        if redesign is None or page is None or not page.content_type.startswith("text/html"):
            return page
        return Page(
            _redesigned(page.body, redesign.changes, redesign.seed),
            page.content_type,
            page.status,
            page.headers,
            page.modified,
        )


@lru_cache(maxsize=1_024)
def _redesigned(body: bytes, changes: tuple[Change, ...], seed: int) -> bytes:
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
