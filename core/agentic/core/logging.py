"""Structured logs: an event name and key-value facts, on standard error.

structlog is loaded for the first line: it takes 0.1 s, and most commands write none.
"""

from __future__ import annotations

import logging
import sys
from copy import copy
from functools import lru_cache
from importlib.util import find_spec
from io import StringIO
from typing import TYPE_CHECKING, TextIO, cast

from agentic.core.masking import mask_known
from agentic.core.terminal import harmless

if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec
    from types import ModuleType

    from structlog.typing import EventDict, ExcInfo, FilteringBoundLogger, Processor


def configure_logging(level: str = "warning", log_format: str = "console") -> None:
    """Set up structlog for this process; called once by each entry point (CLI, worker).

    Args:
        level: Lowest written level: debug, info, warning, error or critical.
        log_format: ``console`` for people, ``json`` for collectors.
    """
    if "structlog" in sys.modules:
        _configure(level, log_format)
    else:
        _ConfiguredWhenLoaded.level, _ConfiguredWhenLoaded.log_format = level, log_format
        if _ConfiguredWhenLoaded not in sys.meta_path:
            sys.meta_path.insert(0, _ConfiguredWhenLoaded)


class _ConfiguredWhenLoaded:
    """A finder that configures structlog as soon as anything imports it, also a plugin."""

    level = "warning"
    log_format = "console"

    @classmethod
    def find_spec(cls, name: str, _path: object = None, _target: object = None) -> ModuleSpec | None:
        """Return how to load structlog; None for any other module."""
        if name != "structlog":
            return None
        sys.meta_path.remove(cls)
        spec = find_spec(name)
        if spec is None or spec.loader is None:
            return spec
        load = spec.loader.exec_module

        def load_and_configure(module: ModuleType) -> None:
            load(module)
            _configure(cls.level, cls.log_format)

        setattr(spec.loader, "exec_module", load_and_configure)  # noqa: B010 - mypy refuses the assignment
        return spec


def _configure(level: str, log_format: str) -> None:
    import structlog

    renderer: Processor
    if log_format == "json":
        renderer = structlog.processors.JSONRenderer()  # in ASCII, so control characters are escaped
    else:
        renderer = structlog.dev.ConsoleRenderer(
            colors=sys.stderr.isatty(),
            exception_formatter=_harmless_traceback,
        )
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.StackInfoRenderer(),
            structlog.processors.format_exc_info if log_format == "json" else _harmless_values,
            renderer,
            cast("Processor", _without_secrets),  # takes the renderer's output
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.getLevelNamesMapping()[level.upper()]),
        logger_factory=structlog.PrintLoggerFactory(file=cast(TextIO, _StandardError())),
        cache_logger_on_first_use=True,
    )


def mask_handlers(logger: logging.Logger) -> None:
    """Mask secrets in all logs of the handlers of ``logger``, also from other libraries."""
    for handler in logger.handlers:
        if not isinstance(handler.formatter, _Masking):
            handler.setFormatter(_Masking(handler.formatter or logging.Formatter()))


class _Masking(logging.Formatter):
    """Formats like another formatter, but masks known secrets and escapes control characters."""

    def __init__(self, inner: logging.Formatter) -> None:
        super().__init__()
        self._inner = inner

    def format(self, record: logging.LogRecord) -> str:
        shown = copy(record)
        shown.msg, shown.args = harmless(record.getMessage()), None
        if record.exc_info:
            shown.exc_text = harmless(self._inner.formatException(record.exc_info))
        return mask_known(self._inner.format(shown))


def _harmless_values(_logger: object, _method: str, event: EventDict) -> EventDict:
    """Escape control characters for a terminal, before the renderer adds its colours."""
    for key, value in event.items():
        if isinstance(value, str):
            event[key] = harmless(value)
    return event


def _harmless_traceback(stream: TextIO, exc_info: ExcInfo) -> None:
    import structlog

    text = StringIO()
    # Rich's tracebacks show all local variables, and so any secret.
    structlog.dev.plain_traceback(text, exc_info)
    stream.write(harmless(text.getvalue()))


def _without_secrets(_logger: object, _method: str, line: str) -> str:
    """Mask the secrets that this process has read, in any form of the renderer."""
    return mask_known(line)


class _StandardError:
    """The current standard error: a progress bar or a test may replace it."""

    def write(self, text: str) -> int:
        return sys.stderr.write(text)

    def flush(self) -> None:
        sys.stderr.flush()


class _LoggerLater:
    """A logger that loads structlog when it is first used."""

    __slots__ = ("_module",)

    def __init__(self, module: str) -> None:
        self._module = module

    def __getattr__(self, name: str) -> object:
        return cast(object, getattr(_bound_logger(self._module), name))


@lru_cache(maxsize=4_096)  # there is one for each module of ours
def _bound_logger(module: str) -> FilteringBoundLogger:
    import structlog

    return cast("FilteringBoundLogger", structlog.get_logger(module=module))


def get_logger(name: str) -> FilteringBoundLogger:
    """Return the logger of module ``name``."""
    if "structlog" in sys.modules:
        return _bound_logger(name)
    return cast("FilteringBoundLogger", _LoggerLater(name))
