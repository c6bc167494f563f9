from __future__ import annotations

from datetime import UTC, datetime

import pytest

from agentic.fakes.pages import Page, html_page
from agentic.fakes.validators import answer

MOMENT = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
PAGE = html_page("<p>one</p>", MOMENT)


def fields(page: Page) -> dict[bytes, bytes]:
    return dict(answer(page, {})[1])


def test_a_page_is_sent_with_its_validators() -> None:
    status, _, body = answer(PAGE, {})
    assert (status, body) == (200, b"<p>one</p>")
    assert fields(PAGE)[b"last-modified"] == b"Sun, 01 Mar 2026 12:00:00 GMT"
    assert fields(PAGE)[b"etag"] != fields(html_page("<p>two</p>", MOMENT))[b"etag"]
    assert fields(PAGE)[b"content-length"] == b"10"


@pytest.mark.parametrize(
    ("asked", "status"),
    [
        ({b"if-none-match": fields(PAGE)[b"etag"]}, 304),
        ({b"if-none-match": b'"other", W/' + fields(PAGE)[b"etag"]}, 304),
        ({b"if-none-match": b"*"}, 304),
        ({b"if-none-match": b'"other"'}, 200),
        ({b"if-modified-since": b"Sun, 01 Mar 2026 12:00:00 GMT"}, 304),
        ({b"if-modified-since": b"Sun, 01 Mar 2026 11:59:59 GMT"}, 200),
        ({b"if-modified-since": b"yesterday"}, 200),
        ({b"if-modified-since": b"Sun, 01 Mar 2026 12:00:00 -0000"}, 200),
        ({b"if-none-match": b'"other"', b"if-modified-since": b"Sun, 01 Mar 2026 12:00:00 GMT"}, 200),
    ],
)
def test_who_has_the_page_already_is_told_so(asked: dict[bytes, bytes], status: int) -> None:
    answered, _, body = answer(PAGE, asked)
    assert answered == status
    assert body == (b"" if status == 304 else PAGE.body)


@pytest.mark.parametrize(
    "page", [Page(b"{}", "application/json"), Page(b"no", "text/html", status=403, modified=MOMENT)]
)
def test_pages_without_a_date_and_refusals_have_no_validators(page: Page) -> None:
    assert fields(page).keys() == {b"content-type", b"content-length"}
    assert answer(page, {b"if-none-match": b"*"})[0] == page.status
