"""Whether a plugin was made for this version: by what its distribution requires."""

from __future__ import annotations

import importlib.metadata
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from packaging.requirements import Requirement

DISTRIBUTION = "agentic-pipelines"


@lru_cache
def misfit_of(plugin: importlib.metadata.Distribution | None) -> str | None:
    """Return why a plugin cannot be loaded by this version, in a sentence with the next step; None if it can.

    pip sees to what a distribution requires when it is installed, but not when what it requires is changed
    later. A plugin that requires no version of this distribution fits.
    """
    if plugin is None or plugin.name == DISTRIBUTION:
        return None
    installed = importlib.metadata.version(DISTRIBUTION)
    for requirement in _requirements(plugin):
        if not requirement.specifier.contains(installed, prereleases=True):
            return (
                f"{plugin.name} {plugin.version} needs {DISTRIBUTION} {requirement.specifier}, but "
                f"{installed} is installed; upgrade it (pip install --upgrade {plugin.name}), or install "
                f"'{DISTRIBUTION}{requirement.specifier}'"
            )
    return None


def _requirements(plugin: importlib.metadata.Distribution) -> list[Requirement]:
    """Return what a plugin always requires of this distribution, extras left out."""
    named = [line for line in plugin.requires or () if DISTRIBUTION in line.replace("_", "-").lower()]
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
