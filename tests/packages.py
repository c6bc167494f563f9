"""uv, which installs packages in a tenth of pip's time, from the places that pip asks.

``python tests/packages.py pip install ...`` runs it from the command line; needs nothing but uv.
"""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Mapping
from functools import cache

UV_NAMES = {
    "cert": "SSL_CERT_FILE",
    "extra-index-url": "UV_INDEX",
    "find-links": "UV_FIND_LINKS",
    "index-url": "UV_DEFAULT_INDEX",
    "no-index": "UV_NO_INDEX",
    "trusted-host": "UV_INSECURE_HOST",
}
"""Settings of pip's configuration that name its places, and the variables that uv reads instead."""

COMMAND = [sys.executable, "-m", "uv", "--quiet"]


def uv_environment() -> dict[str, str]:
    """Return the variables that uv is to have."""
    return {"UV_INDEX_STRATEGY": "unsafe-best-match", **places_of_pip(), **os.environ}


@cache
def places_of_pip() -> Mapping[str, str]:
    """Return the places that pip is configured with, in uv's variables: it reads nothing of pip's."""
    listed = subprocess.run(
        [sys.executable, "-m", "pip", "config", "list"],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    found: dict[str, str] = {}
    # Variables win over what is said of `pip install`, and that over what is said of all commands.
    for line in sorted(listed.stdout.splitlines(), key=lambda line: line.startswith(":env:")):
        key, _, value = line.partition("=")
        if name := UV_NAMES.get(key.rpartition(".")[2]):
            separator = "," if name == "UV_FIND_LINKS" else " "
            found[name] = separator.join(ast.literal_eval(value).split())
    return found


if __name__ == "__main__":
    sys.exit(subprocess.run([*COMMAND, *sys.argv[1:]], env=uv_environment(), check=False).returncode)
