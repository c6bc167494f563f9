"""Sites under other names, the spelling of addresses, redirects and refreshes, cookies, limits."""

from __future__ import annotations

from tests.bench.web.model import Answer, Case, Walled, page, rows_of, titled


def moved(place: str) -> Answer:
    """Return a redirect."""
    return Answer(status="301 Moved Permanently", fields=(f"Location: {place}",))


HOME = {"/": Answer(body=titled("Museum", "/hall")), "/hall": Answer(body=titled("Hall"))}

OTHER_NAMES = (
    Case(
        name="moved-port",
        kind="other names",
        trouble="the start page redirects to another port, as from http to https",
        expects="the site there is crawled",
        routes=HOME,
        beside={"/": moved("{here}/")},
        start="{next_door}/",
        rows=rows_of("Museum", "Hall"),
        named_by=("127.0.0.1",),
    ),
    Case(
        name="moved-host",
        kind="other names",
        trouble="the start page redirects to another host name",
        expects="the site there is crawled",
        routes=HOME,
        beside={"/": moved("{here}/")},
        start="{other}/",
        rows=rows_of("Museum", "Hall"),
        named_by=("127.0.0.1",),
    ),
)

SPELLINGS = (
    Case(
        name="query-bare",
        kind="addresses",
        trouble="links such as `/map?svg`, `/go?/room/7/&x` and `/old?b=1;a=2`",
        expects="they are requested as they are written",
        routes={
            "/": Answer(body=titled("Index", "/map?svg", "/go?/room/7/&amp;x", "/old?b=1;a=2")),
            "/map?svg": Answer(body=titled("Map")),
            "/go?/room/7/&x": Answer(body=titled("Room")),
            "/old?b=1;a=2": Answer(body=titled("Old")),
        },
        rows=rows_of("Index", "Map", "Room", "Old"),
        named_by=("404", "/map", "/go", "/old"),
    ),
    Case(
        name="query-charset",
        kind="addresses",
        trouble="a query in Japanese on a page in EUC-JP",
        expects="it is written in the encoding of the page, as browsers do",
        routes={
            "/": Answer(
                body=page("<h1>Index</h1><a href='/find?q=古書'>x</a>", "<meta charset=euc-jp>"),
                charset="euc-jp",
                media_type="text/html",
            ),
            "/find?q=%B8%C5%BD%F1": Answer(body=titled("Found")),
        },
        rows=rows_of("Index", "Found"),
        named_by=("404", "/find"),
    ),
    Case(
        name="link-blanks",
        kind="addresses",
        trouble="blanks and line breaks around and inside the addresses of links",
        expects="they are read as browsers do",
        routes={
            "/": Answer(body=titled("Index", "  /ro\nom ", "/big room?n=1 2")),
            "/room": Answer(body=titled("Room")),
            "/big%20room?n=1%202": Answer(body=titled("Big room")),
        },
        rows=rows_of("Index", "Room", "Big room"),
        named_by=("404", "room"),
    ),
    Case(
        name="link-area",
        kind="addresses",
        trouble="pages that only an image map links to",
        expects="they are crawled",
        routes={
            "/": Answer(body=page("<h1>Index</h1><map name=m><area href='/east' shape=default></map>")),
            "/east": Answer(body=titled("East wing")),
        },
        rows=rows_of("Index", "East wing"),
        named_by=("/east",),
    ),
    Case(
        name="location-latin",
        kind="addresses",
        trouble="a redirect to an address with raw bytes in Latin-1",
        expects="these bytes are requested",
        routes={
            "/": Answer(body=titled("Index", "/cafe")),
            "/cafe": Answer(status="302 Found", fields=(b"Location: /caf\xe9",)),
            "/caf%E9": Answer(body=titled("Café")),
        },
        rows=rows_of("Index", "Café"),
        named_by=("404", "/caf"),
    ),
)

REFRESHES = (
    Case(
        name="refresh-meta",
        kind="refreshes",
        trouble='the start page is only `<meta http-equiv="refresh">`',
        expects="it is followed like a redirect",
        routes={
            "/": Answer(body=page("", '<meta http-equiv="Refresh" content="1; URL=\'museum\'">')),
            "/museum": Answer(body=titled("Museum", "/hall")),
            "/hall": Answer(body=titled("Hall")),
        },
        rows=rows_of("Museum", "Hall"),
        named_by=("refresh",),
    ),
    Case(
        name="refresh-field",
        kind="refreshes",
        trouble="the same in the header field `Refresh`",
        expects="it is followed like a redirect",
        routes={
            "/": Answer(body=page(""), fields=("Refresh: 0; url=/museum",)),
            "/museum": Answer(body=titled("Museum", "/hall")),
            "/hall": Answer(body=titled("Hall")),
        },
        rows=rows_of("Museum", "Hall"),
        named_by=("refresh",),
    ),
)

COOKIES = (
    Case(
        name="cookie-start",
        kind="cookies",
        trouble="the start page sets a cookie and redirects to itself until it comes back",
        expects="the site is crawled",
        routes={
            "/": Walled(
                "seen=1",
                inside=Answer(body=titled("Museum", "/hall")),
                outside=Answer(status="302 Found", fields=("Location: /", "Set-Cookie: seen=1; Path=/")),
            ),
            "/hall": Answer(body=titled("Hall")),
        },
        rows=rows_of("Museum", "Hall"),
        named_by=("redirect",),
    ),
    Case(
        name="cookie-inside",
        kind="cookies",
        trouble="a page inside the site redirects to a page that sets a cookie and leads back",
        expects="the page is read",
        routes={
            "/": Answer(body=titled("Museum", "/tour")),
            "/tour": Walled(
                "age=ok",
                inside=Answer(body=titled("Tour")),
                outside=Answer(status="302 Found", fields=("Location: /age",)),
            ),
            "/age": Answer(status="302 Found", fields=("Location: /tour", "Set-Cookie: age=ok; Path=/")),
        },
        rows=rows_of("Museum", "Tour"),
        named_by=("redirect", "/tour"),
    ),
)

LIMITS = (
    Case(
        name="limit-pages",
        kind="limits",
        trouble="a limit of 5 pages ends the crawl of a site with 12",
        expects="5 pages, and a report that the limit ended the crawl",
        routes={
            "/": Answer(body=titled("Room 0", "/r1")),
            **{
                f"/r{number}": Answer(body=titled(f"Room {number}", f"/r{number + 1}"))
                for number in range(1, 12)
            },
        },
        max_pages=5,
        rows=rows_of("Room 0", "Room 1", "Room 2", "Room 3", "Room 4"),
        named_by=("max_pages", "limit", "closespider_itemcount"),
        must_report=True,
    ),
    Case(
        name="pages-missing",
        kind="limits",
        trouble="3 of 4 linked pages answer 404",
        expects="2 rows, and a report of the missing pages",
        routes={
            "/": Answer(body=titled("Index", "/r0", "/r1", "/r2", "/r3")),
            "/r0": Answer(body=titled("Room")),
        },
        rows=rows_of("Index", "Room"),
        named_by=("404",),
        must_report=True,
    ),
)

CASES = (*OTHER_NAMES, *SPELLINGS, *REFRESHES, *COOKIES, *LIMITS)
