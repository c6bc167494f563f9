from __future__ import annotations

from datetime import UTC, datetime

import pytest

from agentic.core.actors import Page
from agentic.core.pipeline.drift.incidents import Cause
from agentic.core.pipeline.drift.looking import PageWatchers
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
    watcher.markers = {kind_of(RULE).key: ('class="title"',)}
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
