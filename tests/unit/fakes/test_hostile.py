from __future__ import annotations

import zlib

import pytest
from selectolax.lexbor import LexborHTMLParser
from tests.clocks import Clock

from agentic.fakes.hostile.generated import Deep, Generated, page_count
from agentic.fakes.hostile.limits import Flakes, RateLimits
from agentic.fakes.hostile.oddities import challenge_page, charset_page, malformed_page
from agentic.fakes.hostile.streams import MIB, gzip_bomb, huge


def body(site: Generated | Deep, path: str) -> bytes:
    page = site.page(path, "", "")
    assert page is not None, path
    return page.body


@pytest.mark.parametrize("size", [1, 50, 51, 5_200])
def test_following_the_links_of_a_generated_site_finds_every_page(size: int) -> None:
    site, seen = Generated(), set[str]()
    home = LexborHTMLParser(body(site, f"/{size}/"))
    waiting = [f"/{size}/{node.attributes['href']}" for node in home.css("ul.lists a")]
    while waiting:
        path = waiting.pop()
        if path in seen:
            continue
        seen.add(path)
        page = LexborHTMLParser(body(site, path))
        waiting += [f"/{size}/list/{node.attributes['href']}" for node in page.css("a.next")]
        seen |= {f"/{size}/item/{(n.attributes['href'] or '').split('/')[-1]}" for n in page.css("a.product")}
    assert len(seen) + 1 == page_count(size)
    assert all(site.page(path, "", "") for path in seen)


def test_a_generated_article_has_the_fields_of_the_shop() -> None:
    page = LexborHTMLParser(body(Generated(), "/100000/item/77777"))
    for field in (".title", ".price", ".currency", ".sku", ".stock", ".description"):
        assert len(page.css(f"article {field}")) == 1
    assert float(page.css(".price")[0].text()) > 0


@pytest.mark.parametrize(
    "path", ["/10/item/11", "/10/list/2", "/10/item/0", "/0/", "/10", "/99999999/", "/x/"]
)
def test_other_generated_paths_do_not_exist(path: str) -> None:
    assert Generated().page(path, "", "") is None


def test_the_calendar_never_ends() -> None:
    path = "/0"
    for _ in range(50):
        path = f"/{LexborHTMLParser(body(Deep(), path)).css('a.next')[0].attributes['href']}"
    assert path == "/50"


def test_a_rate_is_kept_and_who_asks_inside_the_wait_is_early() -> None:
    clock = Clock(50.0)
    limits = RateLimits(clock)
    assert [limits.take("a", 2, 3) for _ in range(4)] == [0, 0, 0, 1]
    clock.now += 0.5
    assert limits.take("a", 2, 3) == 1
    assert limits.take("b", 2, 3) == 0
    clock.now += 0.5
    assert limits.take("a", 2, 3) == 0
    assert limits.stats() == {
        "a": {"allowed": 4, "refused": 2, "early": 1},
        "b": {"allowed": 1, "refused": 0, "early": 0},
    }


def test_a_flake_fails_as_often_as_it_says() -> None:
    flakes = Flakes()
    assert [flakes.fails("a", 2) for _ in range(4)] == [True, True, False, False]
    assert flakes.fails("b", 1)
    flakes.reset()
    assert flakes.fails("a", 2)


@pytest.mark.parametrize(
    ("kind", "charset", "declared"),
    [("mislabelled", "cp1252", "utf-8"), ("unlabelled", "cp1252", ""), ("bom", "utf-16", ""),
     ("meta", "shift_jis", "")],
)  # fmt: skip
def test_a_charset_page_is_what_its_kind_says(kind: str, charset: str, declared: str) -> None:
    page = charset_page(kind)
    assert page is not None
    assert page.content_type.partition("charset=")[2] == declared
    assert "<title>" in page.body.decode(charset)
    with pytest.raises(UnicodeDecodeError):
        page.body.decode()


@pytest.mark.parametrize(
    ("kind", "size"),
    [("nested", 10**6), ("unclosed", 50), ("nulls", 50), ("line", 10 << 20), ("binary", 2**16)],
)
def test_a_malformed_page_is_as_large_as_it_should_be(kind: str, size: int) -> None:
    page = malformed_page(kind)
    assert page is not None
    assert len(page.body) >= size
    assert b"\n" not in page.body or kind == "binary"


def test_kinds_nobody_knows_do_not_exist() -> None:
    assert charset_page("x") is malformed_page("x") is challenge_page("x") is None


async def test_a_gzip_bomb_is_small_and_opens_to_what_it_says() -> None:
    packed = b"".join([chunk async for chunk in gzip_bomb(8)])
    assert len(packed) < 20_000
    assert len(zlib.decompress(packed, zlib.MAX_WBITS | 16)) == 8 * MIB


async def test_a_huge_body_has_as_many_bytes_as_it_says() -> None:
    assert sum([len(chunk) async for chunk in huge(3)]) == 3 * MIB
