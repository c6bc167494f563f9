"""Prints the versions of the peers and of the libraries beside them as JSON; null is a missing one."""

from __future__ import annotations

import json
import platform
import sys
from importlib.metadata import PackageNotFoundError, version

REQUIREMENTS = ("scrapy", "crawlee[parsel]", "price-parser", "dateparser", "extruct", "feedparser")


def version_of(requirement: str) -> str | None:
    """Return the installed version."""
    try:
        return version(requirement.partition("[")[0])
    except PackageNotFoundError:
        return None


if __name__ == "__main__":
    found = {one.partition("[")[0]: version_of(one) for one in REQUIREMENTS}
    sys.stdout.write(json.dumps({"Python": platform.python_version(), **found}) + "\n")
