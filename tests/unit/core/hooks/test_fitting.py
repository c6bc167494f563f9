"""Which requirements of plugins fit, as packaging reads them."""

from __future__ import annotations

from email.message import Message
from importlib.metadata import Distribution
from os import PathLike
from pathlib import Path
from typing import cast
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.requirements import Requirement

from agentic.core.hooks import fitting

releases = st.lists(st.integers(0, 3), min_size=1, max_size=3).map(lambda found: ".".join(map(str, found)))
bounds = st.tuples(st.sampled_from([">=", "<=", "==", "!=", "<", ">", "~=", "==="]), releases).map("".join)
installed = releases | st.sampled_from(["0.1.0rc1", "1.0.post1", "2.dev0"])
markers = st.sampled_from(
    ["", "; extra == 'x'", '; extra == "x"', "; python_version > '3'", "; python_version < '3'"]
)


class _Plugin(Distribution):
    """A distribution with one requirement."""

    def __init__(self, requirement: str) -> None:
        self._requirement = requirement

    def read_text(self, filename: str) -> str | None:
        del filename
        return f"Name: plugin\nVersion: 1\nRequires-Dist: {self._requirement}\n"

    def locate_file(self, path: str | PathLike[str]) -> Path:
        return Path(path)

    @property
    def metadata(self) -> Message:  # type: ignore[override]  # as a plain message
        message = Message()
        message["Name"], message["Version"] = "plugin", "1"
        message["Requires-Dist"] = self._requirement
        return message


def _misfit(requirement: str, version: str) -> str | None:
    with patch("importlib.metadata.version", lambda _: version):
        return fitting.misfit_of.__wrapped__(cast(Distribution, _Plugin(requirement)))


@given(st.lists(bounds, max_size=3), installed, markers, st.sampled_from(["", " ", "[testing]"]))
def test_a_requirement_fits_exactly_if_packaging_says_so(
    given_bounds: list[str], version: str, marker: str, mark: str
) -> None:
    line = f"agentic-pipelines{mark}{','.join(given_bounds)}{marker}"
    try:
        wanted = Requirement(line)
    except ValueError:  # ~=1 is not one
        return
    applies = wanted.marker is None or wanted.marker.evaluate({"extra": ""})
    fits = not applies or wanted.specifier.contains(version, prereleases=True)
    assert (_misfit(line, version) is None) == fits


@pytest.mark.parametrize("line", ["agentic-pipelines-extra>=9", "agentic_pipelines<9", "other>=3"])
def test_other_distributions_and_other_spellings_are_told_apart(line: str) -> None:
    assert _misfit(line, "0.1.0") is None


def test_a_misfit_says_what_to_install() -> None:
    assert _misfit("agentic-pipelines>=2,<3", "0.1.0") == (
        "plugin 1 needs agentic-pipelines <3,>=2, but 0.1.0 is installed; upgrade it (pip install --upgrade "
        "plugin), or install 'agentic-pipelines<3,>=2'"
    )
