"""Wrappers: learnt page by page, merged, stored."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.core.wrappers.pages import LAMPS, SELECTORS, learnt, old_page, tree_of

from agentic.core.wrappers import (
    Locator,
    LocatorKind,
    Observation,
    Wrapper,
    WrapperVersionError,
    decode,
    encode,
    learn,
    merge,
)
from agentic.core.wrappers.fingerprints import Fingerprint

NAMES = st.text(alphabet="abcdefghij-_0123456789äé", min_size=1, max_size=40)


@pytest.mark.parametrize("name", sorted(SELECTORS))
def test_wrapper_is_read_as_it_was_written(name: str) -> None:
    wrapper = learnt()[name]
    assert decode(encode(wrapper)) == wrapper
    assert encode(decode(encode(wrapper))) == encode(wrapper)


def test_pages_without_a_value_count_as_missing() -> None:
    wrappers = learnt()
    after = learn(wrappers, Observation(old_page(LAMPS[0]), "9", {}))
    assert (after["price"].pages, after["price"].missing) == (4, 1)
    assert after["price"].null_rate == 0.25
    assert after["price"].fingerprint == wrappers["price"].fingerprint


def test_examples_are_kept_by_key_and_the_latest_stay() -> None:
    wrappers = {"title": Wrapper("title", locators=(Locator(LocatorKind.CSS, "h1"),))}
    for key in [*range(20), 19]:
        tree = tree_of(f"<h1>Lamp number {key}</h1>")
        wrappers = learn(
            wrappers, Observation(tree, str(key), {"title": wrappers["title"].locators[0].find(tree)})
        )
    assert [*wrappers["title"].examples] == [str(key) for key in range(12, 20)]
    assert wrappers["title"].examples["19"] == "Lamp number 19"


def test_two_runs_merge_to_what_both_learnt() -> None:
    one, other = learnt(LAMPS[:1])["weight"], learnt(LAMPS[1:])["weight"]
    both = merge(one, other)
    assert both.pages == 3
    assert both.fingerprint.samples == 3
    assert both.fingerprint.amounts == (310.0, 2400.0)
    assert [*both.examples] == ["1", "2", "3"]
    assert merge(Wrapper("weight"), one).fingerprint == one.fingerprint


@settings(max_examples=25, deadline=None)
@given(
    st.lists(NAMES, min_size=1, max_size=30),
    st.text(max_size=3_000),
    st.lists(st.text(max_size=300), max_size=20),
)
def test_stored_wrapper_has_2_kb_at_most(classes: list[str], text: str, keys: list[str]) -> None:
    tree = tree_of(f"<div class='{' '.join(classes)}'><p id=p>x</p></div>")
    hits = Locator(LocatorKind.CSS, "p").find(tree)
    long = tuple(Locator(LocatorKind.CSS, f"p.{'n' * 90}{index}") for index in range(5))
    wrappers = {"a": Wrapper("a", words=("word",) * 8, locators=long)}
    for key in ["k", *keys]:
        wrappers = learn(wrappers, Observation(tree, key, {"a": hits, "b": hits}, {"a": text}))
    stored = encode(wrappers["a"])
    assert len(stored) <= 2_048
    assert encode(decode(stored)) == stored


@settings(max_examples=50, deadline=None)
@given(
    st.text(min_size=1, max_size=100),
    st.lists(st.text(max_size=400), max_size=12),
    st.dictionaries(st.text(max_size=200), st.floats(0, 1), max_size=20),
)
def test_no_name_word_or_place_is_too_long_for_the_limit(
    name: str, texts: list[str], weights: dict[str, float]
) -> None:
    places = tuple(Locator(LocatorKind.JSON, text, text) for text in texts[:5])
    near = dict.fromkeys(weights, (0.0, 1.0))
    looks = Fingerprint(samples=1, names=weights, label=weights, rivals=weights, neighbours=near)
    wrapper = Wrapper(
        name, words=tuple(texts), locators=places, fingerprint=looks, examples=dict.fromkeys(texts, "x")
    )
    stored = encode(wrapper)
    assert len(stored) <= 2_048
    assert decode(stored).name == name.encode("utf-8", "replace").decode()
    assert encode(decode(stored)) == stored


def test_newer_version_is_refused_by_name() -> None:
    data = json.loads(encode(Wrapper("title")))
    with pytest.raises(WrapperVersionError, match="has version 9, and this installation reads 1"):
        decode(json.dumps({**data, "v": 9}).encode())
    with pytest.raises(ValueError, match="not a wrapper"):
        decode(b"[]")
