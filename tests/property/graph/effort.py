"""How many examples a property looks at.

A run of the whole suite looks at the same ones each time; `make test` looks at a third of them.
``PROPERTY_EFFORT=20`` looks at twenty times as many, new ones each time.
"""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings
from tests.quick import is_quick

EFFORT = int(os.environ.get("PROPERTY_EFFORT", "1"))


def examples(count: int) -> settings:
    """Return the settings of a property that usually looks at ``count`` examples."""
    return settings(
        max_examples=-(-count // 3) if is_quick() else count * EFFORT,
        derandomize=EFFORT == 1,
        database=None,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )
