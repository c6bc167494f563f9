"""Names that are made of other names. They are unique, for all possible ids of executors.

Ids of executors may contain anything but ``/``. Two numbers follow an id (``executor.superstep.shard``) and
are read from the right. Where colons separate the parts, the id's own colons are escaped.
"""

from __future__ import annotations

import re

from agentic.core.graph.errors import InvalidRunIdError
from agentic.core.types import RunId

_SUB_RUN = re.compile(r"(.*)~[0-9]+(\.[0-9]+)?", re.DOTALL)


def between_colons(part: str) -> str:
    """Return ``part`` in a form for names with colons between the parts."""
    if ":" in part or "%" in part:
        return part.replace("%", "%25").replace(":", "%3A")
    return part


def sub_run_name(origin: str, number: int, refused: int = 0) -> str:
    """Return the name of a sub-run; the first one of an activation has the activation's name.

    Args:
        origin: Of the activation; it ends with two dots and numbers.
        number: Position of the call in its handler, from 1.
        refused: How often a barrier refused the activation's result: its sub-runs then start again.
    """
    if refused:
        return f"{origin}~{number}.{refused}"
    return origin if number == 1 else f"{origin}~{number}"


def sub_run_name_before(origin: str, number: int) -> str:
    """Return the old name of a sub-run: the name for ``a.2`` can also be a name for ``a``."""
    return origin if number == 1 else f"{origin}.{number}"


def origin_of(name: str) -> str:
    """Return the activation of a sub-run."""
    found = _SUB_RUN.fullmatch(name)
    return name if found is None else found[1]


def checked_run_id(run_id: str) -> RunId:
    """Return ``run_id`` as the name of a run.

    Raises:
        InvalidRunIdError: It is not a valid run id.
    """
    if not run_id or "/" in run_id or not is_storable(run_id):
        raise InvalidRunIdError(run_id)
    return RunId(run_id)


def is_storable(name: str) -> bool:
    """Whether a name can be stored: text with lone surrogates, such as broken file names, cannot."""
    if name.isascii():
        return True
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True
