"""Every message ends somewhere, every event has its place."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.property.graph.checking import check_log, check_mail
from tests.property.graph.effort import examples
from tests.property.graph.playing import played
from tests.property.graph.scripted import build
from tests.property.graph.shapes import Shape, shapes

seeds = st.integers(0, 1_000_000)


@pytest.mark.requirement("EN03", "EN04")
@examples(150)
@given(shape=shapes(), seed=seeds)
def test_every_message_is_delivered_superseded_undeliverable_held_back_or_pending(
    shape: Shape, seed: int
) -> None:
    workflow = build(shape)
    check_mail(shape, workflow, played(workflow, seed))


@examples(100)
@given(shape=shapes(), seed=seeds)
def test_events_are_numbered_without_gaps_and_every_activation_begins_and_ends_once(
    shape: Shape, seed: int
) -> None:
    check_log(played(build(shape), seed).events)
