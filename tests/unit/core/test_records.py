from __future__ import annotations

from agentic.core.actors import ItemOutput, PageLink
from agentic.core.records import unchecked

ALL = {"url", "rel", "text"}


def test_a_model_made_unchecked_is_as_one_that_was_checked() -> None:
    values = {"url": "http://a/", "rel": "", "text": "A"}
    made, checked = unchecked(PageLink, dict(values), ALL), PageLink(**values)
    assert made == checked
    assert (made.model_dump(), made.model_dump_json(), repr(made)) == (
        checked.model_dump(),
        checked.model_dump_json(),
        repr(checked),
    )
    assert made.model_fields_set == checked.model_fields_set


def test_a_changed_copy_of_one_leaves_it_and_the_others_as_they_are() -> None:
    given = {"item"}
    first = unchecked(ItemOutput, {"item": {"a": 1}}, given)
    copy = first.model_copy(update={"item": {"a": 2}})
    assert (first.item, copy.item, given) == ({"a": 1}, {"a": 2}, {"item"})
