"""Fields whose values stand in attributes: images, links, dates; found again after a redesign."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest
from tests.unit.core.wrappers.pages import tree_of

from agentic.core.types import JSONValue
from agentic.core.wrappers import (
    Abstained,
    Found,
    Kind,
    Locator,
    LocatorKind,
    PageTree,
    StoredPage,
    Wrapper,
    choose,
    decode,
    encode,
    learn,
    locators_of,
    observation_of,
    repair,
    rule_of,
    with_locators,
)
from agentic.core.wrappers.addresses import same_address
from agentic.core.wrappers.data import finds
from agentic.core.wrappers.rules import wrapper_of_rule
from agentic.core.wrappers.values import agreement

RULES: dict[str, JSONValue] = {
    "title": "h1.headline",
    "photo": {"selector": "div.lead img", "attr": "src", "type": "url"},
    "author": "p.byline a",
    "author_url": {"selector": "p.byline a", "attr": "href"},
    "published": {"selector": "p.byline time", "attr": "datetime"},
    "sources": {"selector": "ul.sources a", "attr": "href", "list": True},
}
KEYS = ("harbour", "orchard", "railway")


def _old(key: str) -> PageTree:
    return tree_of(f"""<html><head><title>The {key} opens</title></head><body>
<nav><a href=/>Home</a><a href=/sport>Sport</a></nav>
<div class=lead><img src=/img/{key}-at-dawn-400x300.jpg></div><h1 class=headline>The {key} opens</h1>
<p class=byline>By <a href=/writers/anna-{key}>Anna {key.title()}</a>
<time datetime=2024-03-0{len(key) % 9}T22:10:00+01:00>in March</time></p>
<p>It was a quiet morning when the gates of the {key} were opened for the first time.</p>
<ul class=sources><li><a href=https://city.example/{key}/plan>Plan</a>
<li><a href=https://archive.example/{key}/history>History</a></ul>
<div class=more><a href=/other-1><img src=/img/other-story-one-400x300.jpg></a>
<a href=/other-2><img src=/img/other-story-two-400x300.jpg></a></div></body></html>""")


def _new(key: str, **without: str) -> PageTree:
    html = f"""<html><head><title>The {key} opens | News</title></head><body>
<header><a href=/><img src=/static/logo-of-the-paper.svg></a></header><main><div class=x81kd>
<h1>The {key} opens</h1><div class=css-1q2w3e><a href=/people/anna-{key}>Anna {key.title()}</a>
<span data-time=2024-03-0{len(key) % 9}T21:10:00Z>last month</span></div>
<figure class=css-77aa21><img src=data:image/gif;base64,R0 data-src=https://cdn.example/w_900/{key}-at-dawn.webp>
</figure><p>It was a quiet morning when the gates of the {key} were opened for the first time.</p>
<div class=refs><p><a href=https://city.example/{key}/plan>Plan</a></p>
<p><a href=https://archive.example/{key}/history>History</a></p></div></div>
<aside><a href=/other-1><img data-src=https://cdn.example/w_90/other-story-one.webp></a>
<a href=/other-2><img data-src=https://cdn.example/w_90/other-story-two.webp></a></aside></main></body></html>"""
    for text in without.values():
        html = html.replace(text, "")
    return tree_of(html)


def _row(key: str) -> dict[str, JSONValue]:
    return {
        "title": f"The {key} opens",
        "photo": f"https://shop.example/img/{key}-at-dawn-400x300.jpg",
        "author": f"Anna {key.title()}",
        "author_url": f"/writers/anna-{key}",
        "published": f"2024-03-0{len(key) % 9}T22:10:00+01:00",
        "sources": [f"https://city.example/{key}/plan", f"https://archive.example/{key}/history"],
    }


def _learnt(keys: Sequence[str] = KEYS) -> dict[str, Wrapper]:
    made = {name: wrapper_of_rule(name, rule) for name, rule in RULES.items()}
    wrappers = {name: one for name, one in made.items() if one is not None}
    for key in keys:
        wrappers = learn(wrappers, observation_of(_old(key), key, wrappers, _row(key)))
    return wrappers


@pytest.mark.parametrize("count", [1, 3])
def test_images_links_and_dates_are_found_in_their_new_attributes(count: int) -> None:
    pages = [StoredPage(_new(key), _row(key)) for key in KEYS[:count]]
    results = repair(_learnt(), pages, sorted(RULES))
    last = _new(key := KEYS[count - 1])
    read = {
        name: (one.locators[0].attr, one.locators[0].read(last)[: 2 if name == "sources" else 1])
        for name, one in results.items()
        if isinstance(one, Found)
    }
    assert read == {
        "title": ("", [f"The {key} opens"]),
        "photo": ("data-src", [f"https://cdn.example/w_900/{key}-at-dawn.webp"]),
        "author": ("", [f"Anna {key.title()}"]),
        "author_url": ("href", [f"https://shop.example/people/anna-{key}"]),
        "published": ("data-time", [f"2024-03-0{len(key) % 9}T21:10:00Z"]),
        "sources": ("href", [f"https://city.example/{key}/plan", f"https://archive.example/{key}/history"]),
    }


def test_repaired_rule_reads_the_new_attribute_and_its_type_stays() -> None:
    results = repair(_learnt(), [StoredPage(_new(key), _row(key)) for key in KEYS], ["photo"])
    found = results["photo"]
    assert isinstance(found, Found)
    rule = with_locators(RULES["photo"], found.locators, is_list=False)
    assert isinstance(rule, dict)
    assert (rule["attr"], rule["type"]) == ("data-src", "url")
    assert locators_of(rule) == [*found.locators]


def test_image_that_is_gone_is_not_replaced_by_another_one() -> None:
    pages = [
        StoredPage(_new(key, photo=f"https://cdn.example/w_900/{key}-at-dawn.webp"), _row(key))
        for key in KEYS
    ]
    assert isinstance(repair(_learnt(), pages, ["photo"])["photo"], Abstained)


def test_person_may_choose_an_image_that_no_address_proves() -> None:
    pages = [StoredPage(_new(key)) for key in KEYS]
    wrappers = _learnt()
    result = repair(wrappers, pages, ["photo"])["photo"]
    choice = next(one for one in result.choices if "harbour-at-dawn" in one.texts[0])
    chosen = choose(wrappers, pages, "photo", choice)
    assert isinstance(chosen, Found)
    assert [one.new for one in chosen.evidence] == [
        (f"https://cdn.example/w_900/{key}-at-dawn.webp",) for key in KEYS
    ]
    assert all(one.attr == "data-src" for one in chosen.locators)


def test_attribute_of_the_head_is_read_and_found_again_as_data() -> None:
    rule: JSONValue = {"selector": 'meta[property="og:image"]', "attr": "content", "type": "url"}
    wrapper = wrapper_of_rule("photo", rule)
    assert wrapper is not None
    page = tree_of(
        "<head><meta property=og:image content=https://a.example/i/red-front-door.jpg></head><h1>Door</h1>"
    )
    assert wrapper.locators[0].read(page) == ["https://a.example/i/red-front-door.jpg"]
    assert finds(wrapper.locators[0], page)
    new = tree_of(
        "<head><meta name=twitter:image content=https://a.example/i/red-front-door.jpg></head><h1>Door</h1>"
    )
    row: dict[str, JSONValue] = {"photo": "https://a.example/i/red-front-door.jpg"}
    found = repair({"photo": wrapper}, [StoredPage(new, row)], ["photo"])["photo"]
    assert isinstance(found, Found)
    assert found.locators == (Locator(LocatorKind.META, "twitter:image"),)


def test_link_without_its_attribute_is_not_there() -> None:
    locator = Locator(LocatorKind.CSS, "a.next", attr="href")
    assert not finds(locator, tree_of("<a class=next>Next</a>"))
    assert not finds(locator, tree_of("<a class=next href='javascript:more()'>Next</a>"))
    assert finds(locator, tree_of("<a class=next href=/2>Next</a>"))


def test_number_in_an_attribute_is_found_as_a_text() -> None:
    wrapper = wrapper_of_rule("price", {"selector": "b.price", "attr": "data-amount", "type": "price"})
    assert wrapper is not None
    wrappers = {"price": wrapper}
    for amount in ("49.90", "128.35", "61.20"):
        page = tree_of(f"<h1>Lamp</h1><p>Price <b class=price data-amount={amount}>see below</b></p>")
        wrappers = learn(wrappers, observation_of(page, amount, wrappers, {"price": float(amount)}))
    new = tree_of(
        "<h1>Lamp</h1><div><span>Price</span> <em>128,35 EUR</em></div><div>Weight <em>3 kg</em></div>"
    )
    found = repair(wrappers, [StoredPage(new, {"price": 128.35})], ["price"])["price"]
    assert isinstance(found, Found)
    assert (found.evidence[0].new, found.locators[0].attr) == (("128,35 EUR",), "")


def test_locators_keep_their_attribute_in_rules_and_in_bytes() -> None:
    others: list[JSONValue] = [{"xpath": "//figure//img/@data-src"}, {"meta": "og:image"}]
    rule: JSONValue = {"selector": "img.a", "attr": "src", "alternatives": others}
    locators = locators_of(rule)
    assert [one.attr for one in locators] == ["src", "data-src", ""]
    assert locators[1].read(tree_of("<figure><img data-src=/a.png></figure>")) == [
        "https://shop.example/a.png"
    ]
    assert rule_of(locators, is_list=False) == rule
    wrapper = Wrapper("photo", Kind.ADDRESS, locators=tuple(locators))
    assert decode(encode(wrapper)) == wrapper
    assert b'["selector","h1",""]' in encode(Wrapper("title", locators=(Locator(LocatorKind.CSS, "h1"),)))


@pytest.mark.parametrize(
    ("rule", "kind"),
    [
        ({"selector": "a", "attr": "href"}, Kind.ADDRESS),
        ({"selector": "img", "attr": "alt"}, Kind.TEXT),
        ({"selector": "a", "attr": "href", "regex": "id=([0-9]+)"}, Kind.TEXT),
        ({"selector": "b", "attr": "data-cents", "type": "integer"}, Kind.NUMBER),
        ({"meta": "og:image", "type": "url"}, Kind.ADDRESS),
        ({"selector": "button", "attr": "disabled", "type": "boolean"}, None),  # it has no value
    ],
)
def test_rule_says_which_values_its_attribute_has(rule: JSONValue, kind: Kind | None) -> None:
    wrapper = wrapper_of_rule("field", rule)
    assert (wrapper.kind if wrapper is not None else None) is kind


@pytest.mark.parametrize("place", [["selector", "a"], ["selector", "a", "", "href", "x"]])
def test_place_with_too_few_or_too_many_parts_is_not_read(place: list[str]) -> None:
    text = encode(Wrapper("photo", locators=(Locator(LocatorKind.CSS, "a", attr="href"),)))
    other = text.replace(b'["selector","a","","href"]', json.dumps(place).encode())
    with pytest.raises(ValueError, match=r"values to unpack|is not a place"):
        decode(other)


@pytest.mark.parametrize(
    ("found", "wanted", "agrees"),
    [
        ("https://www.a.example/x/1", "http://a.example/x/1/", 1.0),
        ("https://a.example/x/1", "/x/1", 1.0),
        ("https://a.example/x/1?utm=mail", "https://a.example/x/1", 0.95),
        ("https://a.example/item?id=1", "https://a.example/item?id=2", 0.0),
        ("https://cdn.example/photos/door.jpg?w=90", "https://a.example/photos/door.jpg?w=640", 0.95),
        ("https://cdn.example/red-front-door.webp", "https://a.example/i/red-front-door-400x300.jpg", 0.9),
        (
            "https://i.example/r?url=https%3A%2F%2Fa.example%2Fi%2Fdoor.jpg",
            "https://a.example/i/door.jpg",
            0.0,
        ),
        (
            "https://i.example/r?url=https%3A%2F%2Fa.example%2Fi%2Fred-front-door.jpg&w=9",
            "https://b.example/i/red-front-door.jpg",
            0.9,
        ),
        ("https://a.example/people/anna-lee-1", "https://a.example/writers/Anna%20Lee%201", 0.9),
        ("https://social.example/in/annaleeone", "https://a.example/writers/anna-lee-one", 0.0),
        (
            "https://share.example/s?u=https://a.example/2024/red-front-door",
            "https://a.example/2024/red-front-door",
            0.0,
        ),
        ("https://a.example/i/1.jpg", "https://a.example/j/1.jpg", 0.0),
        ("mailto:anna@a.example", "mailto:anna@a.example", 1.0),
        ("https://[a.example", "https://[a.example", 1.0),
        ("https://a.example/", "https://b.example/", 0.0),
        ("", "", 0.0),
    ],
)
def test_two_addresses_lead_to_the_same_thing(found: str, wanted: str, agrees: float) -> None:
    assert same_address(found, wanted) == agrees


@pytest.mark.parametrize(
    ("found", "agrees"),
    [
        ("2024-05-24T20:49:03.000Z", 1.0),
        ("2024-05-24T20:49:04Z", 0.0),
        ("2024-05-24", 1.0),
        ("May 25, 2024", 0.0),
        ("25.05.2024 last update", 0.0),
    ],
)
def test_two_dates_agree_if_they_are_one_moment_or_one_day(found: str, agrees: float) -> None:
    assert agreement(Kind.TEXT, [found], "2024-05-24T16:49:03-04:00") == agrees


@pytest.mark.parametrize(
    "markup",
    ["<a href=/staff/42>{0}</a>", "<a href=/staff/42><b>{0}</b></a>"],
)
def test_link_that_leads_elsewhere_now_is_found_at_the_text_that_it_had(markup: str) -> None:
    new = tree_of(
        "<div class=a1><h1>The harbour opens</h1><p>Text by "
        f"{markup.format('Anna Harbour')}</p><p><a href=/about>About us</a></p></div>"
    )
    pages = [StoredPage(new, _row("harbour"))]
    found = repair(_learnt(), pages, ["author", "author_url"])["author_url"]
    assert isinstance(found, Found)
    assert found.evidence[0].new == ("https://shop.example/staff/42",)
    without_its_text = repair(_learnt(), pages, ["author_url"])["author_url"]
    assert isinstance(without_its_text, Abstained)


def test_link_is_not_taken_from_a_text_that_has_none() -> None:
    new = tree_of(
        "<div class=a1><h1>The harbour opens</h1><p>Text by <i>Anna Harbour <a href=/mail></a></i></p></div>"
    )
    results = repair(_learnt(), [StoredPage(new, _row("harbour"))], ["author", "author_url"])
    assert [type(results[name]) for name in ("author", "author_url")] == [Found, Abstained]


@pytest.mark.parametrize(
    ("found", "known", "is_same"),
    [
        ("May 24, 2024 4:49 pm", "2024-05-24 16:49", True),
        ("May 24, 2024 4:49 pm", "2024-05-24 04:49", False),
        ("May 24, 2024, 12:05 a.m.", "2024-05-24 00:05", True),
        ("May 24, 2024, 10:49 PM GMT+2", "May 24, 2024 04:49 pm", True),
        ("May 24, 2024 5:49 PM EDT", "May 24, 2024 4:48 PM EDT", False),
        ("May 24, 2024 5:49 PM EDT", "May 24, 2024 4:49 PM EDT", False),
        ("24.05.2024 18:00", "24.05.2024 10:00", False),
    ],
)
def test_times_of_a_day_agree_on_clocks_of_12_and_24_hours_and_in_two_zones(
    found: str, known: str, *, is_same: bool
) -> None:
    assert (agreement(Kind.TEXT, [found], known) >= 0.9) is is_same


def test_link_of_a_text_that_is_held_as_data_alone_is_not_made_up() -> None:
    rules: dict[str, JSONValue] = {"title": "h1 a", "link": {"selector": "h1 a", "attr": "href"}}
    made = {name: wrapper_of_rule(name, rule) for name, rule in rules.items()}
    wrappers = {name: one for name, one in made.items() if one is not None}
    title = "A harbour that was closed for a hundred years opens"
    page = tree_of(f"<h1><a href=/story/17>{title}</a></h1><p>It was a quiet morning.</p>")
    wrappers = learn(wrappers, observation_of(page, "17", wrappers))
    data = f'<script type="application/ld+json">{{"@type": "Article", "headline": "{title}"}}</script>'
    new = tree_of(f"{data}<p>It was a quiet morning.</p><a href=/about>About</a>")
    row: dict[str, JSONValue] = {"title": title, "link": "https://shop.example/story/17"}
    results = repair(wrappers, [StoredPage(new, row)], ["title", "link"])
    assert isinstance(results["title"], Found)
    assert results["title"].place.numbers == ()
    assert isinstance(results["link"], Abstained)


def test_day_that_a_page_names_once_is_found_in_another_form_and_place() -> None:
    wrappers = {"posted": Wrapper("posted", locators=(Locator(LocatorKind.CSS, "#d1"),))}
    story = "<p>It was a quiet morning when the gates were opened.</p>" * 12
    old = "Friday, December 16, 2016, 1:38 PM"
    page = tree_of(f"<h1>Gates</h1><div id=d1>{old}</div>{story}")
    wrappers = learn(wrappers, observation_of(page, "1", wrappers))
    new = tree_of(f"<h1>Gates</h1><div>Anna Lee <time>Dec 16, 2016 at 1:38 pm</time></div>{story}")
    found = repair(wrappers, [StoredPage(new, {"posted": old})], ["posted"])["posted"]
    assert isinstance(found, Found)
    assert found.evidence[0].new == ("Dec 16, 2016 at 1:38 pm",)
    card = "<div class=card><b>Story {}</b><i>Dec 16, 2016 at 1:38 pm</i></div>"
    others = tree_of(f"<h1>Gates</h1>{story}<section>{card.format(1)}{card.format(2)}</section>")
    assert isinstance(
        repair(wrappers, [StoredPage(others, {"posted": old})], ["posted"])["posted"], Abstained
    )
