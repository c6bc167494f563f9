"""A process that serves pages to crawlers, for the time of a measurement. Standard library only."""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.request
from types import TracebackType
from typing import Self


class Site:
    """The server of :mod:`tests.bench.site_server`, between ``with`` and its end.

    Attributes:
        base: Its address, without a slash at the end; known inside the block.
    """

    def __init__(self, *options: str) -> None:
        self._command = [sys.executable, "-m", "tests.bench.site_server", *options]
        self.base = ""

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(self._command, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        self.base = self._process.stdout.readline().strip()
        if not self.base:
            raise RuntimeError(f"{' '.join(self._command)} ended with {self._process.wait()}")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.communicate()

    @property
    def first(self) -> str:
        """Address of the catalogue's first list, from which every page can be reached."""
        return f"{self.base}/list/1"

    def stats(self) -> dict[str, float]:
        """Return what was asked for so far.

        ``pages`` are different ones, ``repeated`` requests for a page that was asked for before, and
        ``first_to_last_s`` the seconds between the first request and the last.
        """
        with urllib.request.urlopen(f"{self.base}/__stats", timeout=10) as answer:
            stats: dict[str, float] = json.load(answer)
        return stats
