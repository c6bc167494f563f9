"""Whether this is a run of `make test`, which leaves some of the work to `make test-all`.

``tests/conftest.py`` decides it. The environment tells it to all processes of the run.
"""

from __future__ import annotations

import os

_NAME = "QUICK_TESTS"


def be_quick() -> None:
    """Have this process, and those that it starts, leave some of the work."""
    os.environ[_NAME] = "1"


def is_quick() -> bool:
    """Whether to leave some of the work."""
    return _NAME in os.environ
