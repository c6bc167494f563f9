"""Files robots.txt that editors and servers spoil."""

from __future__ import annotations

from tests.bench.web.model import Answer, Answers, Case, rows_of, titled

KIND = "robots.txt"
RULES = "User-agent: *\nDisallow: /staff/\n"
SHOP: dict[str, Answers] = {
    "/": Answer(body=titled("Lamps", "/staff/rota", "/lamp")),
    "/lamp": Answer(body=titled("Desk lamp")),
    "/staff/rota": Answer(body=titled("Rota")),
}
STAFF = frozenset({"/staff/rota"})


def of_rules(name: str, trouble: str, robots: Answer) -> Case:
    """Return the case of a robots.txt that forbids a folder."""
    return Case(
        name=name,
        kind=KIND,
        trouble=trouble,
        expects="the folder it forbids is not requested",
        routes={**SHOP, "/robots.txt": robots},
        rows=rows_of("Lamps", "Desk lamp"),
        never=STAFF,
        named_by=("robots.txt",),
    )


CASES = (
    of_rules(
        "robots-mark",
        "robots.txt begins with a byte order mark",
        Answer(body="\ufeff" + RULES, media_type="text/plain"),
    ),
    of_rules(
        "robots-utf16",
        "robots.txt saved as UTF-16",
        Answer(body="\ufeff" + RULES, media_type="text/plain", charset="utf-16-le"),
    ),
    of_rules(
        "robots-latin",
        "robots.txt has an accent in Latin-1 in a comment",
        Answer(body="# Règles\n" + RULES, media_type="text/plain", charset="latin-1"),
    ),
    Case(
        name="robots-503",
        kind=KIND,
        trouble="robots.txt answers 503",
        expects="nothing else is requested (RFC 9309), and the reason is reported",
        routes={**SHOP, "/robots.txt": Answer(status="503 Service Unavailable")},
        rows=(),
        never=frozenset({"/", "/lamp", "/staff/rota"}),
        named_by=("robots.txt",),
        must_report=True,
    ),
)
