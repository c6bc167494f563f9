from __future__ import annotations

from datetime import UTC, datetime

import pytest

from agentic.core.actors import Page
from agentic.core.pipeline.drift.incidents import Cause
from agentic.core.pipeline.drift.looking import PageWatchers, UsualLook
from agentic.core.pipeline.drift.sights import has_markers, kind_of, markers_in, wall_at, wall_in
from agentic.core.pipeline.spec.spec import DetailRules
from agentic.core.types import RunId

URL = "http://shop.example/product/1"
RULE = DetailRules(match=("*/product/*",), config={"schema": {"title": "h1"}})


def document(body: str, title: str = "Shop") -> str:
    return f"<!doctype html><html><head><title>{title}</title></head><body>{body}</body></html>"


def page(text: str, url: str = URL, final_url: str | None = None) -> Page:
    return Page(
        url=url,
        final_url=final_url or url,
        status=200,
        content_type="text/html",
        text=text,
        content_hash="h",
        fetched_at=datetime.now(UTC),
    )


@pytest.mark.parametrize(
    ("markup", "wall"),
    [
        (document("<h1>We value your privacy</h1><button>Accept all</button>"), Cause.CONSENT),
        (document("<p>Wir brauchen Ihre Zustimmung</p><button>Alle akzeptieren</button>"), Cause.CONSENT),
        (document("<form><input type='password' name=p></form>"), Cause.LOGIN),
        (document("<h1>Seite nicht gefunden</h1>"), Cause.GONE),
        (document("<p>Sorry</p>", "404"), Cause.GONE),
        (document("<h1>Error <b>404</b></h1>"), Cause.GONE),
        (document("<h1>404: This page could not be found.</h1>"), Cause.GONE),
        (document("<p>Sorry</p>", "Fehler 404 - Laden"), Cause.GONE),
        (document("<h1>Sidan finns inte</h1>"), Cause.GONE),
        (document("<h1>This lamp doesn&rsquo;t exist</h1>"), Cause.GONE),
        (document("<h1>お探しのページは見つかりません</h1>"), Cause.GONE),
        (document("<h1>Hyv&auml;ksy kaikki</h1><button>OK</button>"), Cause.CONSENT),
        (document("<p>Your basket: 20 results. A piano items list, casino matches.</p>"), None),
        (document("<h1>Lotion 404 ml</h1>"), None),
        (document("<h1>Peugeot 404</h1>", "Peugeot 404 | Cars"), None),
        (document(f"<h1>Lamp<p>{'of brass ' * 40} not found elsewhere</p>"), None),  # never closed
        (document("<p>Your search gave no results.</p>"), Cause.EMPTY),
        (document("<script>var text = 'accept all not found'</script><button>Buy</button>"), None),
        (document('<div class="css-1">Lamp</div><div class="css-2">12.50</div>'), None),
        # A banner about cookies beside a long page, and a login in the head of it, are no walls.
        (document("<button>Accept all</button>" + "<p>A lamp of brass and glass.</p>" * 200), None),
        (document("<form><input type=password></form>" + "<p>A lamp of brass and glass.</p>" * 200), None),
        (document("Error 404 and other songs" * 3), None),
        # A large page may begin with styles; its first part has hardly any text.
        (document(f"<input type=password><style>{'a{}' * 80_000}</style><p>Lamp</p>"), None),
        ("", None),
        ("<" * 1_000, None),
    ],
)
def test_walls_are_told_from_pages_in_another_layout(markup: str, wall: Cause | None) -> None:
    assert wall_in(markup, URL) is wall


@pytest.mark.parametrize(
    ("final_url", "wall"),
    [
        ("http://shop.example/login?next=/product/1", Cause.LOGIN),
        ("https://consent.example/collect?to=shop", Cause.CONSENT),
        ("http://shop.example/", Cause.GONE),
        ("http://shop.example/error/404", Cause.GONE),
        ("http://shop.example/sale", Cause.ELSEWHERE),
    ],
)
def test_a_redirect_away_from_the_kind_says_what_the_site_shows_instead(final_url: str, wall: Cause) -> None:
    assert wall_at(final_url, URL) is wall
    watcher = PageWatchers([RULE]).of(RunId("r"))
    sight = watcher.look(page(document("x"), final_url=final_url), 0, None, [])
    assert sight is not None
    assert sight.wall is wall


def test_markers_are_classes_and_ids_that_no_page_of_another_kind_has() -> None:
    watcher = PageWatchers([RULE]).of(RunId("r"))
    listing = document('<header class="top"></header><ul id="list"></ul>')
    assert watcher.look(page(listing, "http://shop.example/"), None, None, []) is None
    detail = document('<header class="top"></header><h1 class="title">A</h1><p id="price">1</p>')
    sight = watcher.look(page(detail), 0, 0, [{"title": "A"}])
    assert sight is not None
    assert sight.markers == ('class="title"', 'id="price"')
    assert has_markers(detail, sight.markers)
    assert not has_markers(listing, sight.markers)


def test_a_page_is_compared_with_the_markers_of_its_kind_only_if_it_lacks_a_field() -> None:
    watcher = PageWatchers([RULE]).of(RunId("r"))
    watcher.looks = {kind_of(RULE).key: UsualLook(markers=('class="title"',))}
    looks = [
        watcher.look(page(document('<h1 class="css-9">A</h1>')), 0, 0, [{"title": "A", "rating": rating}])
        for rating in ("5", None)
    ]
    assert [look and look.is_known for look in looks] == [None, False]


def test_a_changed_rule_is_another_kind() -> None:
    other = RULE.model_copy(update={"config": {"schema": {"title": "h2"}}})
    assert kind_of(RULE).key != kind_of(other).key
    assert kind_of(RULE) == kind_of(RULE.model_copy())


def test_markers_of_odd_markup_are_bounded() -> None:
    assert not list(markers_in('class="' * 5))
    assert not list(markers_in(f'<p class="{"x" * 500}">'))
    assert len(list(markers_in('<p class="a b">' * 10_000))) == 1


KNOWN = {kind_of(RULE).key: UsualLook(needed=frozenset({"title", "price"}))}
NOTHING = [{"url": URL, "title": None, "price": None}]


def address(number: int) -> str:
    return f"http://shop.example/product/{number}"


def test_a_page_without_any_usual_field_leaves_its_row_and_is_no_wall() -> None:
    watcher = PageWatchers([RULE]).of(RunId("r"))
    first = watcher.look(page(document("<p>Lamp</p>")), 0, 0, NOTHING)
    watcher.looks = KNOWN
    second = watcher.look(page(document("<p>Lamp</p>")), 0, 0, NOTHING)
    partly = watcher.look(page(document("<p>Lamp</p>")), 0, 0, [{"title": "Lamp", "price": None}])
    assert first is not None
    assert second is not None
    assert partly is not None
    assert first.wall is second.wall is None
    # Without healthy pages, nobody knows that each page has values.
    assert (first.void, second.void, partly.void) == (None, tuple(NOTHING), None)


def test_short_pages_that_differ_only_in_numbers_are_no_pages_of_items() -> None:
    watcher = PageWatchers([RULE]).of(RunId("r"))
    closed = "<h1>Winterpause</h1><p>Wir sind bald zurück. Ref {}</p>"
    lamp = "<h1>Lamp {}</h1><p>Made of {}.</p>"
    data = '<script type="application/json">["{}{}"]</script><p>One moment</p>'

    def looks(text: str, *names: str) -> list[Cause | None]:
        found = []
        for number, name in enumerate(names):
            shown = document(text.format(name, name))
            sight = watcher.look(page(shown, address(number)), 0, 0, NOTHING)
            assert sight is not None
            found.append(sight.wall)
        return found

    assert looks(closed, "18af-1", "77c0-2", "9e1") == [None, Cause.ELSEWHERE, Cause.ELSEWHERE]
    assert looks(lamp, "Amber", "Brass", "Copper") == [None, None, None]
    assert looks(data, "Amber", "Brass", "Copper") == [None, None, None]


@pytest.mark.parametrize(
    ("headings", "walls"),
    [
        (("Sign in", "Sign in", "Sign in"), [None, Cause.LOGIN, Cause.LOGIN]),
        (("Amber", "Brass", "Copper"), [None, None, None]),  # a new layout, with a login on each page
    ],
)
def test_a_wall_whose_heading_is_taken_for_a_field_leaves_the_row(
    headings: tuple[str, ...], walls: list[Cause | None]
) -> None:
    watcher = PageWatchers([RULE]).of(RunId("r"))
    watcher.looks = KNOWN
    found = []
    for number, heading in enumerate(headings):
        text = document(f"<h1>{heading}</h1><form><input type=password></form>")
        sight = watcher.look(page(text, address(number)), 0, 0, [{"title": heading, "price": None}])
        assert sight is not None
        found.append(sight.wall)
        assert (sight.void is not None) == (sight.wall is not None)
    assert found == walls


@pytest.mark.parametrize("is_list", [True, False])
def test_signs_that_healthy_pages_have_too_make_no_wall(is_list: bool) -> None:
    watcher = PageWatchers([RULE]).of(RunId("r"))
    watcher.looks = KNOWN
    box = "<form><input type=password></form><p>Cookies: <button>Accept all</button></p>"
    links = "<a href=x>Lamp</a>" * 20
    number = None if is_list else 0
    watcher.look(page(document(box + links)), number, number, [{"title": "Lamp", "price": 3}])
    lamp = watcher.look(page(document(f"{box}<b>Lamp</b>")), 0, 0, NOTHING)
    assert lamp is not None
    assert lamp.wall is None
    moved = watcher.look(page(document(f"{box}<b>Lamp</b>"), final_url=f"{URL}/login"), 0, 0, NOTHING)
    assert moved is not None
    assert moved.wall is Cause.LOGIN  # the address says so


def test_accepted_pages_are_read_as_they_are() -> None:
    watcher = PageWatchers([RULE]).of(RunId("r"))
    watcher.looks = {kind_of(RULE).key: UsualLook(needed=frozenset({"title"}), is_accepted=True)}
    sight = watcher.look(page(document("<h1>Not found</h1>")), 0, 0, NOTHING)
    assert sight is not None
    assert (sight.wall, sight.void) == (None, None)


@pytest.mark.parametrize(
    ("markup", "walls"),
    [
        ("<h1>{}</h1><form><input type=password></form>", [Cause.LOGIN, None, None]),
        ("<h1>{}</h1><p>Your basket has no items</p>", [Cause.EMPTY, None, None]),
        ("<h1>{}</h1><h2>No longer available in red</h2>", [Cause.GONE, None, None]),
        ("<h1>{} was not found</h1>", [Cause.GONE] * 3),
        ("<h1>Sign in</h1><p>{}</p><form><input type=password></form>", [Cause.LOGIN] * 3),
    ],
)
def test_a_wall_has_the_same_name_on_each_page(markup: str, walls: list[Cause | None]) -> None:
    watcher = PageWatchers([RULE]).of(RunId("r"))
    watcher.looks = KNOWN
    found = []
    for number, name in enumerate(("Amber", "Brass", "Copper")):
        text = document(markup.format(name), markup.format(name).partition("<h1>")[2].partition("</h1>")[0])
        sight = watcher.look(page(text, address(number)), 0, 0, NOTHING)
        assert sight is not None
        assert sight.void is not None
        found.append(sight.wall)
    assert found == walls
