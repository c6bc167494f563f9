"""Changes to a spec, and their refusal where the spec is another one by now."""

from __future__ import annotations

import pytest

from agentic.core.pipeline.repairs.proposals import (
    RepairProposal,
    SpecChange,
    StaleChangeError,
    apply_changes,
)
from agentic.core.types import JSONValue

FIELDS: JSONValue = {"session_key": "${secrets.USER}", "password": "${secrets.PASSWORD}"}
SPEC: JSONValue = {"steps": [{"actor": "fetch", "config": {"url": "http://a.example/", "fields": FIELDS}}]}
URL = ("steps", 0, "config", "url")
FIELD = ("steps", 0, "config", "fields", "session_key")


def test_change_replaces_the_value_at_its_place_and_leaves_the_given_spec_alone() -> None:
    change = SpecChange(place=URL, old="http://a.example/", new="http://b.example/")
    changed = apply_changes(SPEC, [change])
    assert changed == {
        "steps": [{"actor": "fetch", "config": {"url": "http://b.example/", "fields": FIELDS}}]
    }
    assert "http://a.example/" in str(SPEC)


def test_renamed_key_keeps_its_value_and_position() -> None:
    change = SpecChange(place=FIELD, old="session_key", new="user", is_rename=True)
    assert "secrets" not in change.model_dump_json()
    assert str(apply_changes(FIELDS, [change.model_copy(update={"place": ("session_key",)})])) == str(
        {"user": "${secrets.USER}", "password": "${secrets.PASSWORD}"}
    )


@pytest.mark.parametrize(
    "change",
    [
        SpecChange(place=URL, old="http://c.example/", new="http://b.example/"),
        SpecChange(place=("steps", 1, "config"), old=None, new={}),
        SpecChange(place=("steps", "x"), old=None, new={}),
        SpecChange(place=(*URL, "x"), old=None, new=1),
        SpecChange(place=FIELD, old="session_key", new="password", is_rename=True),
        SpecChange(place=(*FIELD[:-1], "gone"), old="gone", new="user", is_rename=True),
    ],
)
def test_change_to_a_spec_that_is_another_one_by_now_is_refused(change: SpecChange) -> None:
    with pytest.raises(StaleChangeError, match="the spec has another value at steps"):
        apply_changes(SPEC, [change])


def test_proposal_survives_its_storage() -> None:
    change = SpecChange(place=URL, old="http://a.example/", new="http://b.example/")
    proposal = RepairProposal(kind="start_page", subject="fetch", changes=(change,), score=0.9)
    assert RepairProposal.model_validate_json(proposal.model_dump_json()) == proposal
