"""The files that a page names."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from pydantic import ValidationError
from tests.unit.core.pipeline.conftest import NoNetwork

from agentic.core.actors import ActorContext, ActorError, Page
from agentic.core.http import Fetcher, HttpPolicy
from agentic.plugins.web.actors.page_files import PageFilesActor, PageFilesInput
from agentic.plugins.web.reading.file_addresses import Candidate, candidates_in, largest

BASE = "http://a.example/dir/page"


def page(text: str, **more: str) -> Page:
    facts = {"url": BASE, "final_url": BASE, "content_type": "text/html", "content_hash": "", **more}
    return Page.model_validate(
        {"status": 200, "fetched_at": datetime(2026, 1, 1, tzinfo=UTC), "text": text, **facts}
    )


async def found(text: str, select: str, **options: object) -> tuple[list[str], list[str]]:
    """Return the URLs, without the folder of the page, and the subjects of warnings."""
    warned: list[str] = []
    ctx = ActorContext(
        http=Fetcher(HttpPolicy(), NoNetwork()), tally=lambda subject, _: warned.append(subject)
    )
    given = PageFilesInput.model_validate({"page": page(text), "select": select, **options})
    urls = (await PageFilesActor().run(ctx, given)).file_urls
    return [url.removeprefix("http://a.example/dir/") for url in urls], warned


CLOUD = "https://c.example/w_300,h_200/x.jpg 300w,https://c.example/w_900,h_600/x.jpg 900w"


@pytest.mark.parametrize(
    ("text", "select", "expected"),
    [
        ("<img src=a.jpg>", "img", ["a.jpg"]),
        ("<img src=' a.jpg\n'>", "img", ["a.jpg"]),
        (
            "<img src=/a.jpg><img src=//b.example/b.jpg>",
            "img",
            ["http://a.example/a.jpg", "http://b.example/b.jpg"],
        ),
        ("<base href=/up/><img src=a.jpg>", "img", ["http://a.example/up/a.jpg"]),
        ("<img src='a b.jpg?x=ü'>", "img", ["a%20b.jpg?x=%C3%BC"]),
        ("<img src=a.jpg srcset='s.jpg 320w, l.jpg 1280w, m.jpg 640w'>", "img", ["l.jpg"]),
        ("<img src=a.jpg srcset='s.jpg, l.jpg 2x'>", "img", ["l.jpg"]),
        (f"<img srcset='{CLOUD}'>", "img", ["https://c.example/w_900,h_600/x.jpg"]),
        ("<img src=spacer.gif data-src=real.jpg>", "img", ["real.jpg"]),
        ("<img src=spacer.gif data-original=real.jpg class=lazy>", "img", ["real.jpg"]),
        ("<img src='data:image/gif;base64,R0' data-srcset='a.jpg 1x, b.jpg 3x'>", "img", ["b.jpg"]),
        ("<img src=a.jpg data-lazy=true>", "img", ["a.jpg"]),
        ("<img src=a.jpg srcset='data:image/gif;base64,R0 1x'>", "img", ["a.jpg"]),
        ("<img src='data:x' data-src=n.jpg><noscript><img src=n.jpg></noscript>", "img", ["n.jpg"]),
        (
            "<picture><source srcset='b.webp 900w, c.webp 300w'><img src='data:x'></picture>",
            "img",
            ["b.webp"],
        ),
        ("<picture><source srcset='b.webp 900w'><img src=x.jpg></picture>", "img", ["x.jpg"]),
        ("<picture><source srcset='b.webp 9w'><img src=x.jpg></picture>", "picture", ["b.webp"]),
        ("<picture><img src=x.jpg></picture>", "picture", ["x.jpg"]),
        ("<video poster=p.jpg><source src=a.mp4><source src=a.webm></video>", "video", ["a.mp4", "p.jpg"]),
        ("<video poster=p.jpg src=f.mp4></video>", "video", ["f.mp4", "p.jpg"]),
        ("<audio><source src=a.mp3></audio>", "audio", ["a.mp3"]),
        ("<object data=x.pdf></object><embed src=y.pdf>", "object, embed", ["x.pdf", "y.pdf"]),
        ("<svg><image xlink:href=i.png></image></svg>", "image", ["i.png"]),
        ("<meta property='og:image' content=o.png>", "meta[property='og:image']", ["o.png"]),
        ("<link rel=preload imagesrcset='p.jpg 1x, q.jpg 2x' href=p.jpg>", "link", ["q.jpg"]),
        ("<input type=image src=b.png>", "input", ["b.png"]),
        ("<div style=\"background: url('b g.png'), URL(c.png)\"></div>", "div", ["b%20g.png", "c.png"]),
        ("<figure><img src=1.png><img src=2.png><figcaption>f", "figure", ["1.png", "2.png"]),
        ("<a href=a.pdf>A<a href='a.pdf#page=2'>B<a href=B.PDF>C", "a[href$='.pdf' i]", ["a.pdf", "B.PDF"]),
        ("<a href='#top'>x<a href='mailto:a@b.example'>y<a href=a.zip>", "a", ["a.zip"]),
        ("<img src=a.jpg?b=1&c=2><img src=a.jpg?b=1&c=2>", "img", ["a.jpg?b=1&c=2"]),
    ],
)
async def test_the_files_of_a_page_are_found_each_once(text: str, select: str, expected: list[str]) -> None:
    assert await found(text, select) == (expected, [])


async def test_another_attribute_can_hold_the_address() -> None:
    text = "<img src=small.jpg data-zoom=large.jpg><img src=small2.jpg>"
    assert await found(text, "img", attr="data-zoom") == (["large.jpg"], [])


async def test_files_above_the_limit_are_counted_in_a_warning() -> None:
    text = "".join(f"<img src={number}.jpg>" for number in range(5))
    assert await found(text, "img", max_per_page=2) == (["0.jpg", "1.jpg"], ["files above max_per_page"])


@pytest.mark.parametrize(
    ("text", "subject"),
    [
        ("<img src='http://[bad/a.jpg'>", "addresses of files"),
        ("<div class=img data-photo=a.jpg>", "elements without files"),
        ("<img>", "elements without files"),
    ],
)
async def test_elements_that_name_no_file_are_a_warning(text: str, subject: str) -> None:
    assert await found(text, "img, .img") == ([], [subject])


@pytest.mark.parametrize(
    "text",
    [
        "<div>" * 1_900 + "<img>" * 30_000,
        "<picture>" + "<img>" * 30_000,
        "<video>" * 1_900 + "<source>" * 30_000,
        "<div>" * 1_900 + "<p></p>" * 30_000,
    ],
    ids=["elements without an address", "picture", "video", "nothing"],
)
async def test_elements_inside_each_other_are_searched_within_limits(text: str) -> None:
    urls, subjects = await found(text, "div, video, img")
    assert (urls, subjects) == ([], ["elements with too many others inside"])


async def test_faulty_addresses_of_a_page_are_one_warning() -> None:
    text = "<img src='http://[bad/a.jpg'>" * 1_000 + "<img src=a.jpg>"
    assert await found(text, "img") == (["a.jpg"], ["addresses of files"])


async def test_files_inside_the_page_and_pages_without_files_are_no_warning() -> None:
    assert await found("<img src='data:image/png;base64,R0'>", "img") == ([], [])
    assert await found("<p>none", "img") == ([], [])


async def test_only_html_has_files() -> None:
    given = PageFilesInput(page=page("{}", content_type="application/json"), select="img")
    with pytest.raises(ActorError) as caught:
        await PageFilesActor().run(ActorContext(http=Fetcher(HttpPolicy(), NoNetwork())), given)
    assert caught.value.failure_class == "not_html"
    with pytest.raises(ValidationError, match="is not a CSS selector"):
        PageFilesInput(page=page(""), select="img[")


@pytest.mark.parametrize(
    ("srcset", "expected"),
    [
        ("", []),
        (" , ,", []),
        ("a.jpg", [("a.jpg", 0, 1)]),
        ("a.jpg 1x,b.jpg 1.5x", [("a.jpg", 0, 1), ("b.jpg", 0, 1.5)]),
        ("a.jpg, b.jpg 2x,", [("a.jpg", 0, 1), ("b.jpg", 0, 2)]),
        ("a.jpg 100w 50h, b.jpg 200w", [("a.jpg", 100, 1), ("b.jpg", 200, 1)]),
        ("a.jpg large, b.jpg 2x", [("b.jpg", 0, 2)]),
        ("a.jpg -1w, b.jpg 2x", [("b.jpg", 0, 2)]),
        ("a.jpg calc(1x, 2x), b.jpg 2x", [("b.jpg", 0, 2)]),
        ("a.jpg (1x, b.jpg 2x", []),
    ],
)
def test_a_srcset_is_read_as_browsers_read_it(srcset: str, expected: list[tuple[str, float, float]]) -> None:
    assert [tuple(one) for one in candidates_in(srcset)] == expected


def test_the_first_of_the_largest_images_is_taken() -> None:
    assert largest([Candidate("a", 0, 1), Candidate("b", 0, 2), Candidate("c", 0, 2)]) == "b"
    assert largest([]) is None
