"""Structured logs: an event name and key-value facts, on standard error."""

from __future__ import annotations

import logging
import sys
from copy import copy
from io import StringIO
from typing import TextIO, cast

import structlog
from structlog.typing import EventDict, ExcInfo, FilteringBoundLogger, Processor

from agentic.core.masking import mask_known
from agentic.core.terminal import harmless


def configure_logging(level: str = "warning", log_format: str = "console") -> None:
    """Set up structlog for this process; called once by each entry point (CLI, worker).

    Args:
        level: Lowest written level: debug, info, warning, error or critical.
        log_format: ``console`` for people, ``json`` for collectors.
    """
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
            cast(Processor, _without_secrets),  # takes the renderer's output
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


def get_logger(name: str) -> FilteringBoundLogger:
    """Return the logger of module ``name``."""
    return cast(FilteringBoundLogger, structlog.get_logger(module=name))
