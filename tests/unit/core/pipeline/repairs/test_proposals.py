"""Changes to a spec, and their refusal where the spec is another one by now."""

from __future__ import annotations

import pytest

from agentic.core.pipeline.repairs.marks import mark_of
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
    with pytest.raises(
        StaleChangeError, match=r"^the value at steps.* changed after the repair was proposed"
    ):
        apply_changes(SPEC, [change])


def test_proposal_survives_its_storage() -> None:
    change = SpecChange(place=URL, old="http://a.example/", new="http://b.example/")
    proposal = RepairProposal(kind="start_page", subject="fetch", changes=(change,), score=0.9)
    assert RepairProposal.model_validate_json(proposal.model_dump_json()) == proposal


def crawl(host: str, glob: str = "*/lamp/*", **more: JSONValue) -> JSONValue:
    detail: JSONValue = [{"match": [glob], "config": {"schema": {"title": "h1"}}}]
    return {"type": "crawl", "start": [f"https://{host}.example/"], "detail": detail, **more}


A, B, C = crawl("a"), crawl("b"), crawl("c")
TITLE = ("steps", 1, "detail", 0, "config", "schema", "title")
HIDDEN: JSONValue = {"type": "crawl", "start": "https://ann:secret@a.example/?token=secret"}


@pytest.mark.parametrize(
    ("steps", "index"),
    [
        ([A, B, C], 1),
        ([B, C], 0),
        ([C, A, C, B], 3),
        ([A, crawl("b", id="shop", max_pages=5), C], 1),
        ([crawl("b", "*/chair/*"), A, C, crawl("b")], 3),
        ([A, C], None),
        ([C, A], None),
        ([A, crawl("b", "*/chair/*")], None),
        ([A, C, crawl("b", id="x"), crawl("b", id="y")], None),
        ([], None),
    ],
)
def test_a_change_finds_its_step_at_another_index_and_takes_no_other_one(
    steps: list[JSONValue], index: int | None
) -> None:
    change = SpecChange(place=TITLE, old="h1", new="h2").marked({"steps": [A, B, C]})
    assert SpecChange.model_validate_json(change.model_dump_json()) == change
    if index is None:
        with pytest.raises(StaleChangeError):
            apply_changes({"steps": steps}, [change])
        return
    changed = apply_changes({"steps": steps}, [change])
    assert isinstance(changed, dict)
    assert isinstance(changed["steps"], list)
    assert [at for at, step in enumerate(changed["steps"]) if "h2" in str(step)] == [index]


def test_the_mark_of_a_step_has_no_secret_of_its_address() -> None:
    assert "secret" not in mark_of(HIDDEN).model_dump_json()
    assert mark_of(HIDDEN).hosts == ("a.example",)
