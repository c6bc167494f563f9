"""Secrets in texts: found in whatever way they were written down, and nothing else with them."""

from __future__ import annotations

import base64
import html
import json
from collections.abc import Callable
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from agentic.core import masking
from agentic.core.masking import (
    MASK,
    KnownSecrets,
    Masker,
    guessed_secrets,
    learning,
    mask_known,
    masked_data,
    parts_of,
    remember_secrets,
)
from agentic.core.types import JSONValue

WRITERS: dict[str, Callable[[str], str]] = {
    "as it is": str,
    "JSON": lambda text: json.dumps(text)[1:-1],
    "JSON with all letters": lambda text: json.dumps(text, ensure_ascii=False)[1:-1],
    "JSON in JSON": lambda text: json.dumps(json.dumps(text)[1:-1])[1:-1],
    "repr": lambda text: repr(text)[1:-1],
    "HTML": html.escape,
    "path": quote,
    "query": quote_plus,
    "query of a query": lambda text: quote_plus(quote_plus(text)),
    "part of a URL": lambda text: quote(text, safe=""),
}

# Without lone surrogates, which no encoder takes.
SECRETS = st.text(st.characters(exclude_categories=["Cs"]), min_size=4, max_size=40)


@pytest.mark.parametrize("writer", WRITERS)
@given(secret=SECRETS)
@example(secret="000%")
def test_a_secret_is_masked_in_whatever_way_it_is_written(writer: str, secret: str) -> None:
    text = f"<{WRITERS[writer](secret)}>"
    assert Masker.of([secret]).text(text) == f"<{MASK}>"


@given(before=st.binary(max_size=7), secret=st.text(st.characters(codec="ascii"), min_size=8, max_size=30))
def test_nothing_of_a_secret_is_left_in_base64(before: bytes, secret: str) -> None:
    encoded = base64.b64encode(before + secret.encode()).decode()
    left = Masker.of([secret]).text(encoded)
    assert MASK in left
    assert len(left.replace(MASK, "")) <= len(encoded) - len(secret)


def test_the_password_in_a_header_of_basic_is_masked() -> None:
    header = "Basic " + base64.b64encode(b"ada:hush-7d-zebra").decode()
    assert Masker.of(["hush-7d-zebra"]).text(header).startswith("Basic YWRhO")
    assert "aHVza" not in Masker.of(["hush-7d-zebra"]).text(header)


@given(secret=SECRETS, other=st.text("xyz ", max_size=30))
def test_a_text_without_it_stays_as_it_is(secret: str, other: str) -> None:
    if secret not in other.replace("+", " "):
        assert Masker.of([secret]).text(other) == other


def test_data_is_masked_in_keys_and_at_any_depth() -> None:
    data: JSONValue = {"a": ["hush/7d", {"hush/7d": 1}], "b": None}
    assert Masker.of(["hush/7d"]).data(data) == {"a": [MASK, {MASK: 1}], "b": None}


def test_a_secret_too_short_to_be_one_leaves_texts_readable() -> None:
    assert Masker.of(["no", "1"]).text("no. 1") == "no. 1"


def test_a_secret_that_holds_another_is_masked_whole() -> None:
    assert Masker.of(["secret", "secret-long"]).text("secret-long") == MASK


def test_parts_that_are_secrets_by_themselves_are_known() -> None:
    assert "p/w-7d" in set(parts_of("http://ada:p%2Fw-7d@proxy:3128"))
    login = json.dumps({"strategy": "form", "fields": {"user": "ada", "password": "hush-7d"}})
    assert "hush-7d" in set(parts_of(login))
    assert "ada" not in set(parts_of(login))


def test_what_is_a_secret_to_all_appearance_is_guessed() -> None:
    config: dict[str, JSONValue] = {
        "headers": {"Authorization": "Bearer abcdef-1", "Accept": "text/html"},
        "inputs": {"api_key": "abcdef-2", "start_url": "https://ada:abcdef-3@host/?page=1"},
        "login": [{"password": "abcdef-4"}],
    }
    found = set(guessed_secrets(config))
    assert found == {"Bearer abcdef-1", "abcdef-1", "abcdef-2", "abcdef-3", "abcdef-4"}


def test_references_names_and_addresses_are_no_secrets() -> None:
    config: dict[str, JSONValue] = {
        "token": "${secrets.API_TOKEN}",
        "token_url": "https://host/token",
        "session": "my-session",
        "password_selector": "input.password",
        "url": "https://ada:${secrets.PASSWORD}@host/",
        "secret": "none",
    }
    assert list(guessed_secrets(config)) == []


def test_what_was_read_is_masked_from_then_on() -> None:
    assert mask_known("hush-7d-zebra") == "hush-7d-zebra"
    remember_secrets("hush-7d-zebra", "http://ada:other-7d@host/")
    assert mask_known("hush-7d-zebra and other-7d") == f"{MASK} and {MASK}"


def test_what_was_read_longest_ago_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(masking, "_known", KnownSecrets(2))
    remember_secrets("first-7d", "second-7d")
    remember_secrets("third-7d")
    assert mask_known("first-7d second-7d third-7d") == f"first-7d {MASK} {MASK}"


def test_what_is_read_again_is_not_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(masking, "_known", KnownSecrets(2))
    for secret in ("first-7d", "second-7d", "first-7d", "third-7d"):
        remember_secrets(secret)
    assert mask_known("first-7d second-7d third-7d") == f"{MASK} second-7d {MASK}"


def test_who_learns_is_told_of_what_is_read_meanwhile_and_of_nothing_else() -> None:
    learner = KnownSecrets()
    remember_secrets("before-7d")
    with learning(learner):
        remember_secrets("http://ada:during-7d@host/")
    remember_secrets("after-7d")
    assert learner.masker.text("before-7d during-7d after-7d") == f"before-7d {MASK} after-7d"
    assert mask_known("before-7d during-7d after-7d") == f"{MASK} {MASK} {MASK}"


def test_data_is_masked_and_its_names_are_not() -> None:
    remember_secrets("hush-7d-zebra")
    assert masked_data({"hush-7d-zebra": ["of hush-7d-zebra", 1]}) == {"hush-7d-zebra": [f"of {MASK}", 1]}
