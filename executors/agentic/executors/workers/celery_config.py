"""Reads the user's own ``celeryconfig`` without loading Celery."""

from __future__ import annotations

import importlib
import importlib.util
import os
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from types import ModuleType

from agentic.core.errors import SettingsError
from agentic.core.logging import get_logger
from agentic.core.settings import Settings

log = get_logger(__name__)

CONFIG_MODULE_VARIABLE = "CELERY_CONFIG_MODULE"
DEFAULT_MODULE = "celeryconfig"
BROKER_VARIABLE = "CELERY_BROKER_URL"
"""Overrides every configuration, as in Celery."""

_is_unread: ContextVar[bool] = ContextVar("is_unread", default=False)


def own_module() -> ModuleType | None:
    """Return the module ``celeryconfig`` of the current folder or the path, or None.

    Reading it runs it. A file in the current folder is not run if another user may have written it, nor
    in a block of :func:`unread`, unless the environment names it.

    Raises:
        SettingsError: The environment variable CELERY_CONFIG_MODULE names a missing module, or the file in
            the current folder belongs to another user.
    """
    named = os.environ.get(CONFIG_MODULE_VARIABLE)
    name = named or DEFAULT_MODULE
    with _here_on_path():
        if not named and (file := _file_here()) is not None:
            if _is_unread.get():
                return None
            _check_owner(file)
        try:
            return importlib.import_module(name)
        except ModuleNotFoundError as exc:
            if exc.name != name:
                raise
            if named:
                raise SettingsError(
                    f"{CONFIG_MODULE_VARIABLE} names the module {named!r}, which is not on the path; "
                    f"correct or unset it"
                ) from None
            return None


@contextmanager
def unread() -> Iterator[None]:
    """Ignore the current folder's ``celeryconfig`` in a block: code that only inspects must not run it."""
    token = _is_unread.set(True)
    try:
        yield
    finally:
        _is_unread.reset(token)


def unread_file() -> Path | None:
    """Return the file in the current folder that :func:`unread` ignores, if there is one."""
    if os.environ.get(CONFIG_MODULE_VARIABLE):
        return None
    with _here_on_path():
        return _file_here()


def broker_in_use(settings: Settings) -> str | None:
    """Return the URL of the broker that workers use, the first of several; None if none is configured."""
    found: object = os.environ.get(BROKER_VARIABLE) or _own_broker() or settings.broker
    if isinstance(found, (list, tuple)):
        found = next(iter(found), None)
    return str(found).partition(";")[0] if found else None


def _own_broker() -> object:
    try:
        return getattr(own_module(), "broker_url", None)
    except Exception as exc:  # a worker would not start with it; others need only this from it
        log.warning("celeryconfig.unreadable", reason=f"{type(exc).__name__}: {exc}")
        return None


def _file_here() -> Path | None:
    """Return the file that ``import celeryconfig`` would run, if it is in the current folder."""
    spec = importlib.util.find_spec(DEFAULT_MODULE)
    if spec is None or spec.origin is None:
        return None
    file = Path(spec.origin)
    return file if Path.cwd() in file.parents else None


def _check_owner(file: Path) -> None:
    found = file.stat()
    if found.st_uid in {0, os.geteuid()} and not found.st_mode & stat.S_IWOTH:
        return
    raise SettingsError(
        f"{file} is not run because another user may have written it (owner {found.st_uid}, mode "
        f"{stat.S_IMODE(found.st_mode):04o}); make yourself its owner, or set "
        f"{CONFIG_MODULE_VARIABLE}={DEFAULT_MODULE} to run it anyway"
    )


@contextmanager
def _here_on_path() -> Iterator[None]:
    here = os.getcwd()  # noqa: PTH109 - the path holds plain strings
    if here in sys.path:
        yield
        return
    sys.path.insert(0, here)
    try:
        yield
    finally:
        sys.path.remove(here)
