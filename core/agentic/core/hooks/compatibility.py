"""Whether a plugin fits this version, by the requirements of its distribution."""

from __future__ import annotations

import importlib.metadata
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from packaging.requirements import Requirement

DISTRIBUTION = "agentic-pipelines"


@lru_cache
def misfit_of(plugin: importlib.metadata.Distribution | None) -> str | None:
    """Return why this version cannot load a plugin, in a sentence with the next step; None if it can.

    pip checks the requirements of a distribution when it installs it, but not when a required distribution
    changes later. A plugin that requires no version of this distribution fits.
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
    """Return a plugin's requirements on this distribution, without extras."""
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
