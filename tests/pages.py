"""Pages that are read as a browser does, which takes user and password from the URL."""

from __future__ import annotations

import base64
import urllib.request
from urllib.parse import urlsplit


def read_page(url: str, *, timeout_s: float = 20) -> str:
    """Return the text of a page.

    Raises:
        OSError: It cannot be read.
    """
    parts = urlsplit(url)
    login, _, host = parts.netloc.rpartition("@")
    request = urllib.request.Request(parts._replace(netloc=host).geturl())
    if login:
        request.add_header("Authorization", f"Basic {base64.b64encode(login.encode()).decode()}")
    with urllib.request.urlopen(request, timeout=timeout_s) as answer:
        return str(answer.read().decode(errors="replace"))
