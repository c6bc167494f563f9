"""What the user's own ``celeryconfig`` says; Celery itself need not be loaded to know."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType

from agentic.core.errors import SettingsError
from agentic.core.logging import get_logger
from agentic.core.settings import Settings

log = get_logger(__name__)

CONFIG_MODULE_VARIABLE = "CELERY_CONFIG_MODULE"
BROKER_VARIABLE = "CELERY_BROKER_URL"
"""Wins over every configuration, as Celery has it."""


def own_module() -> ModuleType | None:
    """Return the module ``celeryconfig`` of the current folder or the path; None if there is none.

    Raises:
        SettingsError: The environment variable CELERY_CONFIG_MODULE names a module that is not there.
    """
    named = os.environ.get(CONFIG_MODULE_VARIABLE)
    name = named or "celeryconfig"
    with _here_on_path():
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


def broker_in_use(settings: Settings) -> str | None:
    """Return the URL of the broker that workers use, the first of several; None if nothing names one."""
    found: object = os.environ.get(BROKER_VARIABLE) or _own_broker() or settings.broker
    if isinstance(found, (list, tuple)):
        found = next(iter(found), None)
    return str(found).partition(";")[0] if found else None


def _own_broker() -> object:
    try:
        return getattr(own_module(), "broker_url", None)
    except Exception as exc:  # a worker would not start with it; others need nothing of it but this
        log.warning("celeryconfig.unreadable", reason=f"{type(exc).__name__}: {exc}")
        return None


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
