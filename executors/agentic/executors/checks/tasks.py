"""The names of Celery tasks."""

from __future__ import annotations

import warnings
from collections.abc import Iterator

from agentic.core.hooks import Finding


def task_findings() -> Iterator[Finding]:
    """Tell of task names that two functions claim: which of them a worker runs is left to chance."""
    from agentic.executors.celery import app

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        app.loader.import_default_modules()
        app.finalize()
    for one in caught:
        if one.category.__name__ == "DuplicateTaskNameWarning":
            said = " ".join(str(one.message).split())
            yield Finding(f"{said.rstrip('.')}; give one of them another name")
