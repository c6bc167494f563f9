"""Names of secrets: what a name is, and which variable it stands for."""

from __future__ import annotations

import unicodedata

import pytest

from agentic.core.secret_names import KEYS_VARIABLE, folded_name, secret_name_fault, variable_of

# The basic plane, and the mathematical letters, which normalise to ASCII.
CHARACTERS = [chr(code) for code in (*range(0x10000), *range(0x1D400, 0x1D800))]


def _forms(character: str) -> set[str]:
    """Return what programs that compare names take a character for."""
    return {character.lower(), character.upper(), unicodedata.normalize("NFKC", character)}


FOLDING = [one for one in CHARACTERS if not one.isascii() and any(form.isascii() for form in _forms(one))]


def test_there_are_characters_that_fold_into_ascii() -> None:
    assert {"\u017f", "\u212a", "\u0131", "\uff33"} <= {*FOLDING}


def test_no_name_has_a_character_that_folds_into_another() -> None:
    assert [one for one in FOLDING if not secret_name_fault(f"a{one}b")] == []


@pytest.mark.parametrize("place", range(4))
def test_no_spelling_with_a_folding_character_leads_to_the_keys(place: int) -> None:
    names = ["KEYS"[:place] + one + "KEYS"[place + 1 :] for one in FOLDING]
    assert [name for name in names if not secret_name_fault(name)] == []


@pytest.mark.parametrize("name", ["key\u017f", "keys\0", "keys ", "keys\n", "\u2060keys", "ke\u0301ys"])
def test_what_only_looks_like_a_name_is_refused(name: str) -> None:
    assert "letters from a to z" in secret_name_fault(name)


@pytest.mark.parametrize("name", ["keys", "KEYS", "kEyS"])
def test_the_keys_are_reserved_in_any_case(name: str) -> None:
    assert KEYS_VARIABLE in secret_name_fault(name)


def test_names_that_are_one_have_one_variable() -> None:
    assert folded_name("Api-Token") == folded_name("API-TOKEN")
    assert variable_of("Api-Token") == variable_of("API-TOKEN") == "AGENTIC_SECRET_API_TOKEN"
