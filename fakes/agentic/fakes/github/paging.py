"""Pages of a list, and the ``Link`` header that leads from one to the next."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import urlencode

from starlette.requests import Request

from agentic.fakes.github.archive import Item

PER_PAGE = 30
MAX_PER_PAGE = 100


class BadPageError(ValueError):
    """There is no such page, and there can be none."""


def paged(request: Request, items: Sequence[Item], *, is_bounded: bool = False) -> tuple[Sequence[Item], str]:
    """Return the page that was asked for, and its ``Link``, "" if there is but one page.

    Args:
        request: Says ``page`` and ``per_page``.
        items: All there is.
        is_bounded: A page that begins beyond the end of a full search is refused.

    Raises:
        BadPageError: It is refused.
    """
    size = min(max(_number(request, "per_page", PER_PAGE), 1), MAX_PER_PAGE)
    page = max(_number(request, "page", 1), 1)
    if is_bounded and (page - 1) * size >= 1_000:
        raise BadPageError
    last = max(-(-len(items) // size), 1)
    places = {"prev": page - 1, "next": page + 1, "last": last, "first": 1}
    shown = {
        name: number
        for name, number in places.items()
        if 1 <= number <= last and (page > 1 if name in ("prev", "first") else page < last)
    }
    link = ", ".join(f'<{_address(request, number, size)}>; rel="{name}"' for name, number in shown.items())
    return items[(page - 1) * size : page * size], link


def base_of(request: Request) -> str:
    """Return where the API stands, as the client wrote it."""
    return str(request.url.replace(path=request.scope["root_path"], query=""))


def _address(request: Request, page: int, size: int) -> str:
    options = {**request.query_params, "per_page": size, "page": page}
    return f"{request.url.replace(query='')}?{urlencode(options)}"


def _number(request: Request, name: str, default: int) -> int:
    try:
        return int(request.query_params.get(name, default))
    except ValueError:
        return default
