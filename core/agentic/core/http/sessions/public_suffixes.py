"""Domains with public registration below them: ``co.uk``, ``github.io`` (publicsuffix.org)."""

from __future__ import annotations

from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from publicsuffixlist import PublicSuffixList


@lru_cache(maxsize=4_096)  # called for each cookie of a domain, with each request
def is_public_suffix(domain: str) -> bool:
    """Whether ``domain`` is a public suffix: others are registered under it.

    Args:
        domain: In punycode; a top-level domain that is not in the list is one, too.
    """
    return _known().is_public(domain)


@cache
def _known() -> PublicSuffixList:
    from publicsuffixlist import PSLFILE, PublicSuffixList  # loaded by the first cookie with a domain

    # The library would encode all its rules, which takes a quarter of a second.
    lines = Path(PSLFILE).read_text(encoding="utf-8").splitlines()
    return PublicSuffixList("\n".join(_encoded(lines)), accept_encoded_idn=False)


def _encoded(lines: list[str]) -> Iterator[str]:
    for line in lines:
        if line.isascii():
            yield line
        elif not line.startswith("//"):
            yield line.strip().encode("idna").decode("ascii")
