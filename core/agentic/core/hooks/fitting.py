"""Whether a plugin fits the installed version of this distribution."""

from __future__ import annotations

import importlib.metadata
import re
from collections.abc import Sequence
from functools import lru_cache
from operator import eq, ge, gt, le, lt, ne
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from packaging.requirements import Requirement

DISTRIBUTION = "agentic-pipelines"

_COMPARE = {">=": ge, "<=": le, "==": eq, "!=": ne, "<": lt, ">": gt}
_RELEASE = re.compile(r"\d+(?:\.\d+)*")
_BOUND = re.compile(rf"([<>]=?|[=!]=)({_RELEASE.pattern})")
_PLAIN = re.compile(rf"{DISTRIBUTION}((?:(?:[<>]=?|[=!]=){_RELEASE.pattern},?)*)")
_OF_AN_EXTRA = re.compile(r""";\s*extra\s*==\s*["'][\w.-]+["']\s*$""")


@lru_cache
def misfit_of(plugin: importlib.metadata.Distribution | None) -> str | None:
    """Return why this version cannot load a plugin, in a sentence with the next step; None if it can.

    pip checks the requirements of a distribution when it installs it, but not when a required distribution
    changes later. A plugin that requires no version of this distribution fits.
    """
    if plugin is None or plugin.name == DISTRIBUTION:
        return None
    installed = importlib.metadata.version(DISTRIBUTION)
    named = [line for line in plugin.requires or () if DISTRIBUTION in line.replace("_", "-").lower()]
    for requirement in _requirements([line for line in named if not _plainly_fits(line, installed)]):
        if not requirement.specifier.contains(installed, prereleases=True):
            return (
                f"{plugin.name} {plugin.version} needs {DISTRIBUTION} {requirement.specifier}, but "
                f"{installed} is installed; upgrade it (pip install --upgrade {plugin.name}), or install "
                f"'{DISTRIBUTION}{requirement.specifier}'"
            )
    return None


def _plainly_fits(line: str, installed: str) -> bool:
    """Whether a plain requirement like ``agentic-pipelines>=0.1,<2`` fits; False when in doubt.

    The library that reads all requirements takes as long to load as all plugins.
    """
    if _OF_AN_EXTRA.search(line):
        return True
    plain = _PLAIN.fullmatch(line.replace(" ", ""))
    if plain is None or _RELEASE.fullmatch(installed) is None:
        return False
    bounds = [(_COMPARE[sign], _release(version)) for sign, version in _BOUND.findall(plain.group(1))]
    return all(compare(_release(installed), version) for compare, version in bounds)


def _release(version: str) -> tuple[int, ...]:
    """Return the numbers of a version; 1.0 is 1."""
    numbers = [int(number) for number in version.split(".")]
    while numbers and not numbers[-1]:
        numbers.pop()
    return tuple(numbers)


def _requirements(named: Sequence[str]) -> list[Requirement]:
    """Return requirements on this distribution, without extras."""
    if not named:
        return []
    from packaging.requirements import Requirement
    from packaging.utils import canonicalize_name

    found = map(Requirement, named)
    return [
        requirement
        for requirement in found
        if canonicalize_name(requirement.name) == DISTRIBUTION
        and (requirement.marker is None or requirement.marker.evaluate({"extra": ""}))
    ]
