"""Sets the clock of a worker's processes wrong by what a file says now; a worker imports it for that."""

from __future__ import annotations

import time
from pathlib import Path

SKEW = Path("skew")
"""In the folder of the place: seconds; none when it is not there."""

_true_time = time.time


def _skewed_time() -> float:
    try:
        skew_s = float(SKEW.read_text() or 0)
    except OSError:
        skew_s = 0.0
    return _true_time() + skew_s


time.time = _skewed_time
