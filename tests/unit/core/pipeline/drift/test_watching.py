from __future__ import annotations

import json
from itertools import cycle
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.core.pipeline.drift.healthy import (
    KIND,
    MARKERS,
    optional,
    page,
    pages,
    profile_of,
    watched,
)

from agentic.core.pipeline.drift.crawls import CrawlWatch, load_crawl_watch
from agentic.core.pipeline.drift.incidents import Cause
from agentic.core.pipeline.drift.profiles import Expectation, KindProfile, inherited, learnt
from agentic.core.pipeline.drift.sights import marks_of
from agentic.core.pipeline.drift.values import seen_items
from agentic.core.pipeline.drift.watching import STRONG, WEAK, KindWatch
from agentic.core.pipeline.spec.spec import DetailRules
from agentic.core.types import JSONValue


def item(number: int, **changes: JSONValue) -> dict[str, JSONValue]:
    good: dict[str, JSONValue] = {
        "url": f"http://site/{number}",
        "title": f"Lamp number {number}",
        "price": 10.0 + number * 3,
        "currency": "EUR" if number % 3 else "USD",
        "colours": [*["red"] * (1 + number % 3)],
    }
    return {**good, **changes}


@pytest.fixture(scope="module")
def profile() -> KindProfile:
    return profile_of(pages(item(number) for number in range(80)) for _ in range(2))


@pytest.mark.parametrize(
    ("changes", "fields", "fault"),
    [
        ({"title": None}, {"title"}, "missing"),
        ({"price": "Add to basket"}, {"price"}, "odd"),
        ({"price": 99_999.0}, {"price"}, "odd"),
        ({"price": float("nan")}, {"price"}, "odd"),
        ({"price": 10**400}, {"price"}, "odd"),
        ({"currency": "Euro und mehr"}, {"currency"}, "odd"),
        ({"colours": ["x"] * 40}, {"colours"}, "odd"),
        ({"title": "The Small Shop"}, {"title"}, "repeated"),
        ({"title": "lorem " * 100}, {"title"}, "odd"),
    ],
)
def test_a_field_alarms_by_missing_type_size_value_and_repetition(
    profile: KindProfile, changes: dict[str, JSONValue], fields: set[str], fault: str
) -> None:
    seen = watched(pages(item(number, **changes) for number in range(30)), profile)
    assert seen.incident is not None
    assert seen.pages is not None
    assert seen.pages <= 10
    assert {one.field for one in seen.incident.faults} == fields
    assert seen.incident.faults[0].fault == fault
    assert seen.incident.cause is Cause.LAYOUT


def test_the_first_pages_with_a_repeated_value_are_read_again_too(profile: KindProfile) -> None:
    bad = {8, *range(10, 40)}  # page 9 was fetched at the same time, before the redesign
    shop = (item(number, **({"title": "The Small Shop"} if number in bad else {})) for number in range(40))
    seen = watched(pages(shop), profile, is_stored=True)
    assert seen.pages is not None
    again = seen.watch.settle(is_accepted=False)
    assert len(again) == len(set(again)) < 40
    assert {f"p{number}" for number in bad if number < seen.pages} <= {*again}


ODD_PAGES: tuple[dict[str, JSONValue], ...] = (
    {"title": None},
    {"title": ""},
    {"title": "The same lamp"},
    {"price": float("nan")},
    {"price": True},
    {"price": 10**9},
    {"colours": []},
    {"colours": {"red": 1}},
    {"currency": "CHF"},
    {"stock": 3},
)


@given(
    odd=st.dictionaries(st.integers(min_value=0, max_value=79), st.sampled_from(ODD_PAGES), max_size=8),
    sizes=st.lists(st.integers(min_value=1, max_value=30), min_size=1, max_size=8),
    is_known=st.booleans(),
)
@settings(max_examples=40, deadline=None)
def test_pages_that_are_taken_at_once_count_as_one_after_the_other(
    profile: KindProfile, odd: dict[int, dict[str, JSONValue]], sizes: list[int], is_known: bool
) -> None:
    run = pages(item(number, **odd.get(number, {})) for number in range(80))
    expected = Expectation(profile if is_known else KindProfile())
    alone, together = KindWatch(KIND.label), CrawlWatch()
    for one in run:
        alone.note(one.sight, seen_items(one.items), (one.key, one.url, one.content_hash), expected)
    left = run
    for size in cycle(sizes):
        together.note(left[:size], {KIND.key: expected})
        if not (left := left[size:]):
            break
    assert together.kinds[KIND.key] == alone


def test_healthy_pages_are_taken_at_once(profile: KindProfile) -> None:
    watch, expected = KindWatch(KIND.label), Expectation(profile)
    run = pages(item(number) for number in range(80))
    for one in run[:8]:
        watch.note(one.sight, seen_items(one.items), (one.key, one.url, one.content_hash), expected)
    assert watch.note_usual([(one.sight, one.items) for one in run[8:]], expected)
    assert watch.pages == 80


@pytest.mark.parametrize("number", [float("nan"), float("inf"), 10**400], ids=["nan", "infinity", "long"])
def test_a_number_without_a_size_on_a_healthy_page_hides_no_later_one_and_alarms_for_none(
    number: float,
) -> None:
    runs = [item(at, price=number if not at else 10.0 + at * 3) for at in range(80)]
    profile = profile_of(pages(runs) for _ in range(2))
    assert watched(pages(item(at) for at in range(30)), profile).incident is None
    wrong = watched(pages(item(at, price=99_999.0 + at) for at in range(30)), profile)
    assert wrong.incident is not None


def test_keys_of_a_hostile_page_take_bounded_room() -> None:
    watch = CrawlWatch()
    hostile: list[dict[str, JSONValue]] = [
        {f"{at}{key}": 1, f"{at}{key}" * 100_000: 1} for at in range(9) for key in "ab"
    ]
    watch.note(pages([*hostile, {str(key): key for key in range(5_000)}]), {})
    assert len(watch.dump()) < 20_000


def test_two_fields_of_a_record_that_break_together_are_one_incident(profile: KindProfile) -> None:
    broken = (item(number, price=None, title=None) for number in range(30))
    seen = watched(pages(broken), profile)
    assert seen.incident is not None
    assert {fault.field for fault in seen.incident.faults} == {"price", "title"}


def test_half_of_the_pages_broken_is_another_layout_beside_the_old_one(profile: KindProfile) -> None:
    known = profile_of(pages(item(number) for number in range(80)) for _ in range(4))
    mixed = (item(number, price=None) if number % 2 else item(number) for number in range(100))
    seen = watched(pages(mixed), known)
    assert seen.incident is not None
    assert seen.incident.cause is Cause.VARIANT


def test_a_field_gone_on_all_pages_after_others_without_an_optional_one_is_no_part_of_them() -> None:
    rnd = Random(9)
    known = profile_of(pages(optional(0.2, rnd, 1) for _ in range(80)) for _ in range(2))
    before = [optional(1.0, rnd, 1) for _ in range(2)]
    broken = [{**optional(0.0, rnd, 1), "title": None} for _ in range(20)]
    seen = watched(pages([*before, *broken]), known)
    assert seen.incident is not None
    assert seen.incident.cause is Cause.LAYOUT
    (fault,) = seen.incident.faults
    assert (fault.field, fault.pages, fault.of) == ("title", (seen.pages or 0) - 2, fault.pages)


@pytest.mark.parametrize("cause", [Cause.CONSENT, Cause.LOGIN, Cause.GONE, Cause.EMPTY, Cause.ELSEWHERE])
def test_what_a_site_shows_instead_of_its_pages_is_no_fault_of_fields(
    profile: KindProfile, cause: Cause
) -> None:
    blank = dict.fromkeys(item(1))
    seen = watched((page(number, [blank], wall=cause) for number in range(30)), profile)
    assert seen.incident is not None
    assert seen.incident.cause is cause
    assert not seen.incident.cause.is_drift
    assert not seen.incident.faults
    assert seen.pages is not None
    assert seen.pages <= 10


def test_one_page_for_all_addresses_or_a_stub_is_not_taken_for_a_layout(profile: KindProfile) -> None:
    blank = dict.fromkeys(item(1))
    same = watched((page(number, [blank], body="same") for number in range(30)), profile)
    stub = watched((page(number, [blank], size=90) for number in range(30)), profile)
    assert [seen.incident and seen.incident.cause for seen in (same, stub)] == [Cause.ELSEWHERE] * 2


def test_a_few_gone_pages_and_an_empty_run_are_no_incident(profile: KindProfile) -> None:
    blank = dict.fromkeys(item(1))
    mixed = [
        page(number, [blank], wall=Cause.GONE) if number % 10 == 5 else page(number, [item(number)])
        for number in range(60)
    ]
    assert watched(mixed, profile).incident is None
    assert watched([], profile).incident is None


def test_an_unknown_kind_never_alarms_and_a_small_profile_neither() -> None:
    broken = [item(number, title=None) for number in range(50)]
    assert watched(pages(broken), KindProfile()).incident is None
    small = profile_of([pages(item(number) for number in range(19))])
    assert watched(pages(broken), small).incident is None


def test_pages_since_the_evidence_began_are_read_again_unless_they_are_right(profile: KindProfile) -> None:
    run = [*(item(number) for number in range(10)), *(item(number, price=None) for number in range(10, 30))]
    seen = watched(pages(run), profile)
    assert seen.pages is not None
    count = seen.pages
    late = page(count, [item(count, price=None)])
    seen.watch.note([late], {KIND.key: Expectation(profile)})  # was in flight
    assert seen.watch.settle(is_accepted=False) == [f"p{number}" for number in range(10, count + 1)]
    assert not seen.watch.incidents
    assert not seen.watch.summaries()  # the broken pages are never learnt


def test_of_two_layouts_the_bad_pages_before_good_ones_are_read_again_too(profile: KindProfile) -> None:
    good = [item(number) for number in range(40)]
    mixed = [{**one, "price": None} if number in (3, 9, 10) else one for number, one in enumerate(good)]
    broken = (item(number, price=None) for number in range(30))
    seen = watched(pages([*mixed, *broken]), profile)
    assert seen.pages is not None
    bad = [f"p{number}" for number in (3, 9, 10, *range(40, seen.pages))]
    assert [*seen.watch.suspects] == bad
    assert [*load_crawl_watch(seen.watch.dump()).settle(is_accepted=False)] == bad


def test_watch_that_a_later_version_stored_is_gone_on_with(profile: KindProfile) -> None:
    watch = watched(pages([item(number) for number in range(12)]), profile).watch
    later = {key: {**one, "since a later version": [1]} for key, one in json.loads(watch.dump()).items()}
    assert load_crawl_watch(json.dumps(later)).dump() == watch.dump()


def test_pages_without_what_many_healthy_pages_lack_are_not_all_read_again() -> None:
    rnd = Random(8)
    known = profile_of(pages(optional(0.3, rnd, 1) for _ in range(80)) for _ in range(2))
    seen = watched(pages(optional(0.3, rnd, 1) for _ in range(80)), known)
    assert not next(iter(seen.watch.kinds.values())).read_wrong[5:]


def test_accepted_pages_are_not_watched_any_longer_and_begin_a_new_profile(profile: KindProfile) -> None:
    expectations = {KIND.key: Expectation(profile)}
    broken = pages(item(number, price=None) for number in range(60))
    watch = CrawlWatch()
    assert len(watch.note(broken, expectations)) == 1
    assert watch.settle(is_accepted=True) == [page.key for page in broken]
    assert not watch.note(broken, expectations)
    anew = learnt(profile, "r9", watch.summaries()[KIND.key])
    assert [*anew.pages] == ["r9"]
    assert watched(broken, anew).incident is None


def test_a_profile_is_small_and_keeps_the_newest_runs(profile: KindProfile) -> None:
    many = profile_of(pages(item(number) for number in range(30)) for _ in range(15))
    assert len(many.pages) == 10
    assert many.markers == MARKERS
    assert len(many.model_dump_json()) < 2_000 * len(many.fields)
    assert KindProfile.model_validate_json(many.model_dump_json()) == many


def test_a_run_that_is_learnt_twice_counts_once(profile: KindProfile) -> None:
    watch = CrawlWatch()
    watch.note(pages(item(number) for number in range(30)), {})
    summary = watch.summaries()[KIND.key]
    once = learnt(profile, "r9", summary)
    assert learnt(once, "r9", summary).pages == once.pages


def test_a_field_that_appears_late_was_missing_before() -> None:
    def run() -> list[dict[str, JSONValue]]:
        return [item(number, **({"sale": number} if number >= 40 else {})) for number in range(60)]

    known = profile_of(pages(run()) for _ in range(3))
    assert known.fields["sale"].runs["r0"].missing == 40
    assert watched(pages(run()), known).incident is None


def test_a_new_category_on_many_pages_in_sequence_is_healthy() -> None:
    def run(*more: str) -> list[dict[str, JSONValue]]:
        names = ["lamps", "chairs", "bags", "clocks", "kettles", "notebooks", *more]
        return [item(number, category=names[number * len(names) // 70]) for number in range(70)]

    known = profile_of(pages(run()) for _ in range(3))
    assert watched(pages(run("toys")), known).incident is None


def test_a_field_of_a_list_is_missing_where_all_items_lack_it() -> None:
    rnd = Random(1)

    def rows(number: int, *, with_price: bool = True) -> list[dict[str, JSONValue]]:
        return [
            {"title": f"t{number}.{row}", "price": rnd.random() if with_price and row else None}
            for row in range(5)
        ]

    known = profile_of([[page(number, rows(number)) for number in range(40)]])
    good = [page(number, rows(number)) for number in range(40)]
    assert watched(good, known).incident is None
    bad = [page(number, rows(number, with_price=False)) for number in range(40)]
    incident = watched(bad, known).incident
    assert incident is not None
    assert [fault.field for fault in incident.faults] == ["price"]
    empty = watched([page(number, []) for number in range(40)], known).incident
    assert empty is not None
    assert {fault.field for fault in empty.faults} == {"title", "price", "items"}


@pytest.mark.parametrize(
    ("changes", "strength"),
    [
        ({"note": None}, WEAK),
        ({"note": 5.0}, STRONG),
        ({"title": None}, STRONG),
        ({"price": "?"}, STRONG),
        ({"title": "Lamp number 0"}, WEAK),
    ],
    ids=["optional missing", "optional odd", "missing", "odd", "repeated"],
)
def test_pages_are_doubted_for_a_fault_that_few_healthy_pages_have(
    changes: dict[str, JSONValue], strength: int
) -> None:
    def noted(number: int) -> dict[str, JSONValue]:
        return item(number, note=f"note {number}" if number % 2 else None)

    known = profile_of(pages(noted(number) for number in range(80)) for _ in range(2))
    run = [noted(0) | {"note": "note 0"}, noted(1) | changes]
    watch = CrawlWatch()
    watch.note(pages(run), {KIND.key: Expectation(known)})
    (kind,) = watch.kinds.values()
    assert (kind.suspects, kind.doubted) == (["p1"], ["p1"] if strength == STRONG else [])


def schema_of(**fields: JSONValue) -> DetailRules:
    return DetailRules(match=("/product/*",), config={"schema": fields})


def test_a_changed_rule_begins_with_the_fields_that_did_not_change(profile: KindProfile) -> None:
    old = schema_of(title="h1", price=".price", sku=".sku")
    known = profile.model_copy(update={"marks": marks_of(old)})
    assert inherited(marks_of(old), [known]).fields.keys() == profile.fields.keys() & {
        "title",
        "price",
        "sku",
    }
    new = inherited(marks_of(schema_of(title="h1", price=".cost", weight="b")), [KindProfile(), known])
    assert new.fields == {"title": profile.fields["title"]}
    assert (new.pages, new.markers) == (profile.pages, ())
    broken = [{"title": None, "price": 1.0}] * 20
    assert watched(pages(broken), new).pages is not None  # the old field is watched from the first run on
    odd = [{"title": f"Another {n}", "price": "?"} for n in range(40)]
    assert watched(pages(odd), new).pages is None  # and the new one is not


def test_a_repaired_field_is_known_by_its_rule_in_effect_or_as_written(profile: KindProfile) -> None:
    written = marks_of(schema_of(title="h2", price=".price"))  # the owner has changed the title
    repaired = marks_of(schema_of(title="h2", price=".cost"))
    for learnt_with in (".cost", ".price"):
        known = profile.model_copy(update={"marks": marks_of(schema_of(title="h1", price=learnt_with))})
        assert inherited(repaired, [known], written).fields == {"price": profile.fields["price"]}
    assert inherited(repaired, [profile], written) == KindProfile()


def test_a_rule_with_another_actor_or_other_fields_begins_with_nothing(profile: KindProfile) -> None:
    known = profile.model_copy(update={"marks": marks_of(schema_of(title="h1"))})
    others = (
        schema_of(title="h2"),
        schema_of(name="h1"),
        schema_of(title="h1").model_copy(update={"actor": "extract_list"}),
        DetailRules(match=("/product/*",), config={"schema": "${inputs.schema}"}),
    )
    for other in others:
        assert inherited(marks_of(other), [known]) == KindProfile()
    assert inherited(marks_of(schema_of(title="h1")), [profile]) == KindProfile()  # of an older release
