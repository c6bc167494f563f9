"""Checks Celery tasks as a worker finds them."""

from __future__ import annotations

import warnings
from collections.abc import Iterator

from celery import Celery

from agentic.core.hooks import Finding


def task_findings(app: Celery) -> Iterator[Finding]:
    """Report tasks that cannot be imported, and names that two tasks use."""
    fault = None
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            app.loader.import_default_modules()
        except Exception as exc:
            fault = f"{type(exc).__name__}: {exc}"
        app.finalize()
    if fault:
        yield Finding(f"tasks cannot be imported, so no worker starts ({fault}); correct celeryconfig.py")
    for one in caught:
        if one.category.__name__ == "DuplicateTaskNameWarning":
            said = " ".join(str(one.message).split())
            yield Finding(f"{said.rstrip('.')}; rename one of them")
