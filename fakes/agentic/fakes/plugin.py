"""What this plugin brings; pytest loads the package, for its fixture, without it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from agentic.core.hooks import hookimpl

if TYPE_CHECKING:
    import typer

    from agentic.core.llm.adapter import LLMAdapter


@hookimpl
def agentic_commands(app: typer.Typer) -> None:
    """Add ``agentic fakes``."""
    from agentic.core.cli.later import add_group_at

    add_group_at(app, "agentic.fakes.cli:fakes_app", name="fakes", help="Fake servers for demos and tests.")


@hookimpl
def agentic_models() -> Mapping[str, Callable[..., LLMAdapter]]:
    """Provide the model ``fake:words``, which answers by the words of a text."""
    from agentic.fakes.models.words import word_model

    return {"fake": word_model}
