"""Keys seal what is secret, each under one label."""

from __future__ import annotations

import pickle

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentic.core.settings import load_settings
from agentic.mappers.vault.errors import (
    BadSecretKeyError,
    NoSecretKeyError,
    UnreadableSecretError,
    VaultError,
)
from agentic.mappers.vault.keys import Label, SecretKeys

OLD, NEW = SecretKeys.new_key(), SecretKeys.new_key()
LABEL = Label(project_id="p", kind="secret", name="LinkedIn")


@settings(max_examples=25)
@given(value=st.text(alphabet=st.characters(codec=None)))
def test_what_is_sealed_opens_with_its_key_and_does_not_show(value: str) -> None:
    keys = SecretKeys(OLD)
    sealed = keys.seal(LABEL, value)
    assert keys.open(LABEL, sealed) == value
    assert sealed.isascii()
    assert len(value) < 8 or value not in sealed


@pytest.mark.parametrize(
    "label",
    [
        Label(project_id="p", kind="secret", name="linkedin"),
        Label(project_id="q", kind="secret", name="LinkedIn"),
        Label(project_id="p", kind="session", name="LinkedIn"),
    ],
)
def test_what_was_sealed_for_one_does_not_open_for_another(label: Label) -> None:
    keys = SecretKeys(OLD)
    with pytest.raises(UnreadableSecretError):
        keys.open(label, keys.seal(LABEL, "hunter2"))


def test_the_first_key_seals_and_every_key_opens() -> None:
    sealed = SecretKeys(OLD).seal(LABEL, "hunter2")
    both = SecretKeys(f"{NEW}, {OLD}")
    assert both.open(LABEL, sealed) == "hunter2"
    again = both.seal(LABEL, "hunter2")
    assert SecretKeys(NEW).open(LABEL, again) == "hunter2"
    with pytest.raises(UnreadableSecretError):
        SecretKeys(OLD).open(LABEL, again)


def test_a_wrong_key_is_one_sentence_that_says_what_to_do() -> None:
    sealed = SecretKeys(OLD).seal(LABEL, "hunter2")
    with pytest.raises(UnreadableSecretError, match=r"the secret 'LinkedIn'; add the key .* after") as caught:
        SecretKeys(NEW).open(LABEL, sealed)
    error = caught.value
    assert (error.failure_class, error.__cause__, error.__suppress_context__) == ("auth_required", None, True)
    assert not any(word in str(error) for word in ("hunter2", OLD, NEW, sealed))


@pytest.mark.parametrize("sealed", ["", "gAAAA", "no token \x00", "é", "gAAAAABk" + "A" * 200])
def test_what_is_no_token_is_refused_in_the_same_words(sealed: str) -> None:
    with pytest.raises(UnreadableSecretError):
        SecretKeys(OLD).open(LABEL, sealed)


@pytest.mark.parametrize("text", ["", " , "])
def test_without_a_key_nothing_is_sealed_and_the_error_says_how_to_make_one(text: str) -> None:
    keys = SecretKeys(text)
    with pytest.raises(NoSecretKeyError, match="agentic secrets new-key"):
        keys.seal(LABEL, "hunter2")
    with pytest.raises(NoSecretKeyError):
        keys.open(LABEL, "anything")


def test_a_text_that_is_no_key_is_named_by_its_place_only() -> None:
    keys = SecretKeys(f"{OLD},hunter2")
    with pytest.raises(BadSecretKeyError, match="key 2 of 2 is not a valid key") as caught:
        keys.seal(LABEL, "x")
    assert "hunter2" not in f"{caught.value} {keys!r}"


def test_the_keys_come_from_the_environment_and_are_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENTIC_SECRET_KEYS", f"{NEW},{OLD}")
    read = load_settings()
    keys = SecretKeys.configured(read)
    assert keys.open(LABEL, SecretKeys(OLD).seal(LABEL, "x")) == "x"
    assert OLD not in f"{read!r} {keys!r}"


def test_an_error_survives_the_way_between_processes() -> None:
    error: VaultError = UnreadableSecretError("session", "shop")
    copy: VaultError = pickle.loads(pickle.dumps(error))
    assert (str(copy), copy.failure_class) == (str(error), "auth_required")
