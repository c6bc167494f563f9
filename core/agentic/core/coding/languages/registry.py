"""Languages by name; plugins bring them, by the hook ``agentic_languages``."""

from __future__ import annotations

from agentic.core.coding.errors import UnknownLanguageError
from agentic.core.coding.languages.language import Language
from agentic.core.sandbox import Toolbox


def find_language(name: str) -> Language:
    """Return a language by its name or an alias, in any case.

    Raises:
        UnknownLanguageError: No plugin describes it.
        DuplicateNameError: Two plugins do.
    """
    from agentic.core.hooks import get_registry  # 0.02 s, for languages by name only

    languages = get_registry().languages
    try:
        return languages[name.strip().lower()]
    except KeyError:
        raise UnknownLanguageError(name, sorted({one.name for one in languages.values()})) from None


def language_tools() -> Toolbox:
    """Return the tools of all languages, as a sandbox needs them."""
    from agentic.core.hooks import get_registry

    return Toolbox({name: find for one in get_registry().languages.values() for name, find in one.finders})
