"""The languages of the core."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from agentic.core.hooks import hookimpl

if TYPE_CHECKING:
    from agentic.core.coding.languages.language import Language


@hookimpl
def agentic_languages() -> Iterable[Language]:
    """Bring Python, Rust, and TypeScript with each of its test runners."""
    from agentic.core.coding.languages.python import PYTHON
    from agentic.core.coding.languages.rust import RUST
    from agentic.core.coding.languages.typescript import TYPESCRIPT, TYPESCRIPT_JEST, TYPESCRIPT_VITEST

    return (PYTHON, RUST, TYPESCRIPT, TYPESCRIPT_JEST, TYPESCRIPT_VITEST)
