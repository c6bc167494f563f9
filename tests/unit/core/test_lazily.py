from __future__ import annotations

import gc

import pytest

from agentic.core.lazily import uncollected


def test_no_cycles_are_searched_while_modules_are_loaded_and_they_are_again_afterwards() -> None:
    with uncollected():
        assert not gc.isenabled()
    assert gc.isenabled()


def test_a_load_within_a_load_does_not_end_the_pause() -> None:
    with uncollected():
        with uncollected():
            pass
        assert not gc.isenabled()


def test_a_load_that_fails_ends_the_pause() -> None:
    with pytest.raises(ImportError), uncollected():
        raise ImportError
    assert gc.isenabled()


def test_a_process_without_a_collector_gets_none() -> None:
    gc.disable()
    try:
        with uncollected():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()
