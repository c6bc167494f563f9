"""A session's cookies and local storage in the format of a browser."""

from __future__ import annotations

from pydantic import TypeAdapter, ValidationError
from typing_extensions import TypedDict  # pydantic takes the standard one from Python 3.12 on

from agentic.core.browser.errors import InvalidStorageError
from agentic.core.http import HttpSession
from agentic.core.types import JSONValue


class _Item(TypedDict):
    name: str
    value: str


class _Origin(TypedDict):
    origin: str
    localStorage: list[_Item]


class StorageState(TypedDict):
    """A browser's data of a login: Playwright's storage state."""

    cookies: list[JSONValue]
    origins: list[_Origin]


_ORIGINS = TypeAdapter(list[_Origin])


def storage_state(session: HttpSession | None) -> StorageState:
    """Return the initial state of a browser; empty without a session.

    Raises:
        InvalidStorageError: The session's local storage is of another shape; its values are not quoted.
    """
    if session is None:
        return {"cookies": [], "origins": []}
    try:
        origins = _ORIGINS.validate_python(session.storage or [])
    except ValidationError as exc:
        faults = [f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}" for fault in exc.errors()]
        raise InvalidStorageError(session.name, faults) from None
    return {"cookies": session.cookies.to_data(), "origins": origins}
