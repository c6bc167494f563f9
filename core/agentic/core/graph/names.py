"""Names that are made of others, so that no two things ever have one name, whatever executors are called.

Ids of executors hold anything but ``/``. Two numbers follow one (``executor.superstep.shard``), which are
found from the right; where colons are between the parts, an id has none.
"""

from __future__ import annotations

import re

from agentic.core.graph.errors import InvalidRunIdError
from agentic.core.types import RunId

_SUB_RUN = re.compile(r"(.*)~[0-9]+(\.[0-9]+)?", re.DOTALL)


def between_colons(part: str) -> str:
    """Return ``part`` as one of several that colons are between."""
    if ":" in part or "%" in part:
        return part.replace("%", "%25").replace(":", "%3A")
    return part


def sub_run_name(origin: str, number: int, refused: int = 0) -> str:
    """Return the name of a sub-run: of the first one of an activation it is the activation's.

    Args:
        origin: Of the activation; it ends with two dots and numbers.
        number: Position of the call in its handler, from 1.
        refused: How often a barrier refused what the activation came to: its sub-runs begin anew then.
    """
    if refused:
        return f"{origin}~{number}.{refused}"
    return origin if number == 1 else f"{origin}~{number}"


def sub_run_name_before(origin: str, number: int) -> str:
    """Return how sub-runs were named once: that of ``a.2`` can be that of ``a``, too."""
    return origin if number == 1 else f"{origin}.{number}"


def origin_of(name: str) -> str:
    """Return the activation that a sub-run is of."""
    found = _SUB_RUN.fullmatch(name)
    return name if found is None else found[1]


def checked_run_id(run_id: str) -> RunId:
    """Return ``run_id`` as the name of a run.

    Raises:
        InvalidRunIdError: No run can have it.
    """
    if not run_id or "/" in run_id or not is_storable(run_id):
        raise InvalidRunIdError(run_id)
    return RunId(run_id)


def is_storable(name: str) -> bool:
    """Whether a name can be written down: text with lone surrogates, as of broken file names, cannot."""
    if name.isascii():
        return True
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True
