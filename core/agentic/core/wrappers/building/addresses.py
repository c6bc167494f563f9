"""Addresses on a page: where its links lead, and the globs that fit them."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase
from urllib.parse import urlsplit

from agentic.core.wrappers.addresses import link_of
from agentic.core.wrappers.tree import PageTree


def path_of(url: str) -> str:
    """Return path and query of an address, as globs of a crawl are held against them."""
    parts = urlsplit(url)
    return f"{parts.path or '/'}?{parts.query}" if parts.query else parts.path or "/"


def globs_of(urls: Sequence[str], others: Sequence[str] = ()) -> tuple[str, ...]:
    """Return globs over path and query that fit all addresses and none of the others.

    Args:
        urls: Of pages of one kind; two or more make a glob that fits further ones.
        others: Addresses of other pages.

    Returns:
        One glob for each number of folders in the addresses; none if they fit another address.
    """
    kinds: dict[tuple[int, bool], list[str]] = {}
    for path in dict.fromkeys(map(path_of, urls)):
        ahead, mark, _ = path.partition("?")
        kinds.setdefault((ahead.count("/"), bool(mark)), []).append(path)
    globs = tuple(_glob(paths) for paths in kinds.values())
    if any(fnmatchcase(path_of(url), glob) for url in others for glob in globs):
        return ()
    return globs


def _glob(paths: Sequence[str]) -> str:
    """Return a glob for paths with equally many folders."""
    cut = [path.partition("?") for path in paths]
    folders = zip(*(ahead.split("/") for ahead, _, _ in cut), strict=True)
    glob = "/".join(_common(list(parts)) for parts in folders)
    if cut[0][1]:
        glob += "?" + _common([query for _, _, query in cut])
    while "**" in glob:
        glob = glob.replace("**", "*")
    return glob


def _common(parts: Sequence[str]) -> str:
    """Return the beginning and the end that texts share, with a star for what differs."""
    shortest = min(map(len, parts))
    if len(set(parts)) == 1:
        return _escaped(parts[0])
    ahead = next((i for i in range(shortest) if len({part[i] for part in parts}) > 1), shortest)
    room = shortest - ahead
    behind = next((i for i in range(room) if len({part[-1 - i] for part in parts}) > 1), room)
    head, tail = parts[0][:ahead], parts[0][len(parts[0]) - behind :] if behind else ""
    # Half a word that a few titles share by chance, such as `a-` or `s`, is no sign of a kind of page.
    head = head[: max(map(head.rfind, "=-_.&")) + 1] if not _is_telling(head) else head
    tail = tail[tail.find(".") :] if "." in tail else ""
    return f"{_escaped(head)}*{_escaped(tail)}"


def _is_telling(head: str) -> bool:
    return head[-1:] in "=-_.&"


def _escaped(text: str) -> str:
    return text.replace("[", "[[]").replace("*", "[*]")


def links_of_kind(tree: PageTree) -> list[str]:
    """Return the links of a page to pages whose addresses differ from its own in one part only."""
    here = urlsplit(tree.url)
    found: dict[str, None] = {}
    for number, tag in enumerate(tree.tags):
        url = link_of(tree, number) if tag == "a" else None
        if url is None or url == tree.url or urlsplit(url).netloc != here.netloc:
            continue
        globs = globs_of([tree.url, url])
        if len(globs) == 1 and globs[0].count("*") == 1 and globs[0] != "/*":
            found[url] = None
    return list(found)
