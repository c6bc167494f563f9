"""Structured logs: an event name and key-value facts, on standard error."""

from __future__ import annotations

import logging
import sys
from typing import TextIO, cast

import structlog
from structlog.typing import FilteringBoundLogger, Processor

from agentic.core.masking import mask_known


def configure_logging(level: str = "warning", log_format: str = "console") -> None:
    """Set structlog up for this process; called once by each entrance (CLI, worker).

    Args:
        level: Lowest level written: debug, info, warning or error.
        log_format: ``console`` for people, ``json`` for collectors.
    """
    renderer: Processor
    if log_format == "json":
        renderer = structlog.processors.JSONRenderer()
    else:
        renderer = structlog.dev.ConsoleRenderer(
            # What Rich makes of a traceback shows all local variables, and so any secret.
            colors=sys.stderr.isatty(),
            exception_formatter=structlog.dev.plain_traceback,
        )
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.StackInfoRenderer(),
            *([structlog.processors.format_exc_info] if log_format == "json" else []),
            renderer,
            cast(Processor, _without_secrets),  # takes what the renderer gives
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.getLevelNamesMapping()[level.upper()]),
        logger_factory=structlog.PrintLoggerFactory(file=cast(TextIO, _StandardError())),
        cache_logger_on_first_use=True,
    )


def mask_handlers(logger: logging.Logger) -> None:
    """Have what other libraries log by the handlers of ``logger`` masked, too."""
    for handler in logger.handlers:
        if not isinstance(handler.formatter, _Masking):
            handler.setFormatter(_Masking(handler.formatter or logging.Formatter()))


class _Masking(logging.Formatter):
    """Formats as another formatter does, and masks the secrets that this process has read."""

    def __init__(self, inner: logging.Formatter) -> None:
        super().__init__()
        self._inner = inner

    def format(self, record: logging.LogRecord) -> str:
        return mask_known(self._inner.format(record))


def _without_secrets(_logger: object, _method: str, line: str) -> str:
    """Mask the secrets that this process has read, in whatever way the renderer has written them."""
    return mask_known(line)


class _StandardError:
    """Standard error as it is at each moment: a progress bar or a test puts something else in its place."""

    def write(self, text: str) -> int:
        return sys.stderr.write(text)

    def flush(self) -> None:
        sys.stderr.flush()


def get_logger(name: str) -> FilteringBoundLogger:
    """Return the logger of module ``name``."""
    return cast(FilteringBoundLogger, structlog.get_logger(module=name))
