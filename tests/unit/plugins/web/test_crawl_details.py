"""What is said of the items of a crawl's pages, checked before anything runs."""

from __future__ import annotations

import jsonschema
import pytest

from agentic.core.hooks import get_registry
from agentic.core.pipeline import SpecError, parse_spec, read_spec, spec_schema

LISTED = "{match: ['*'], actor: extract_list, config: {item_selector: .quote, fields: {text: span}}}"
ITEM = "{match: [/author/*], config: {schema: {name: h1}}, item_key: name}"


def crawl(rest: str) -> str:
    return "steps:\n  - type: crawl\n    start: http://a/\n    " + rest + "\n"


def faults(rest: str) -> list[str]:
    with pytest.raises(SpecError) as caught:
        parse_spec(crawl(rest), get_registry().actors)
    return [str(fault) for fault in caught.value.faults]


@pytest.mark.parametrize("detail", [LISTED, ITEM, f"[{ITEM}, {LISTED}]"])
def test_one_rule_and_several_are_written_as_they_were_read(detail: str) -> None:
    spec = parse_spec(crawl(f"detail: {detail}"), get_registry().actors)
    stored = spec.model_dump(mode="json", exclude_unset=True)
    assert isinstance(stored["steps"][0]["detail"], dict if detail.startswith("{") else list)
    assert read_spec(stored, get_registry().actors) == spec
    jsonschema.validate(stored, spec_schema(get_registry().actors))


@pytest.mark.parametrize(
    ("rest", "fault"),
    [
        (
            "detail: {match: ['*'], actor: extract_list, config: {item_selector: a}}",
            "steps[0].detail.config, line 4 column 49: set 'fields', so that 'extract_list' returns items",
        ),
        (
            "links: {actor: extract_list, config: {item_selector: a, fields: {text: b}}}",
            "steps[0].links.config, line 4 column 34: links are followed, not stored; move 'fields'",
        ),
        (
            "detail: {match: ['*'], actor: fetch}",
            "a crawl needs an actor here that returns item or items; 'fetch' does not",
        ),
        (
            f"detail: [{ITEM}, {{match: ['*'], actor: extract_lits}}]",
            "steps[0].detail[1].actor, line 4",
        ),
        (
            "detail: {mach: ['*']}",
            "unknown key 'mach'; did you mean 'match'? (known: actor, config, item_key, match, python)",
        ),
        (f"detail: [{ITEM}, {{match: ['*'], mach: 1}}]", "steps[0].detail[1].mach, line 4"),
        ("detail: []", "steps[0].detail, line 4 column 5: Tuple should have at least 1 item"),
        ("detail: [{match: ['${nothing.x}']}]", "steps[0].detail[0].match[0], line 4"),
    ],
)
def test_what_cannot_be_stored_is_found_at_its_place(rest: str, fault: str) -> None:
    assert any(fault in found for found in faults(rest)), faults(rest)
