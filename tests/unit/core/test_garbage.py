from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from agentic.core.garbage import NEW_OBJECTS, tune_gc


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    before = gc.get_threshold()
    yield
    gc.set_threshold(*before)


def test_python_looks_for_garbage_less_often_and_for_old_garbage_as_it_did() -> None:
    gc.set_threshold(700, 10, 7)
    tune_gc()
    assert gc.get_threshold() == (NEW_OBJECTS, 10, 7)


def test_python_does_not_look_at_what_was_there_before() -> None:
    gc.unfreeze()  # all that was loaded for the tests, which is skipped again from here on
    tune_gc()
    assert gc.get_freeze_count() > 10_000
