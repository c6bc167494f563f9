"""The platform ``quotes``: a JSON file of quotes into the table ``quotes``."""

from __future__ import annotations

from collections.abc import Iterable

from agentic.core.hooks import Platform, hookimpl


@hookimpl
def agentic_platforms() -> Iterable[Platform]:
    """Bring the platform. Imports wait until somebody asks, as this module is loaded by every command."""
    from agentic_plugin_quotes.executor import QuotesExecutor, QuotesSettings
    from agentic_plugin_quotes.mapper import QuotesMapper
    from agentic_plugin_quotes.models import QuoteModel

    return [
        Platform(
            name="quotes",
            executor=QuotesExecutor,
            mapper=QuotesMapper,
            settings=QuotesSettings,
            migrations="agentic_plugin_quotes.migrations",
            models=[QuoteModel],
        )
    ]
