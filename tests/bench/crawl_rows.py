"""The rows of the tables of crawls."""

from __future__ import annotations

from tests.bench.contenders import Contender
from tests.bench.rows import Row

CRAWLERS: tuple[Contender, ...] = ("scrapy", "crawlee-memory", "crawlee-files", "crawlee-sql")
RESUMERS: tuple[Contender, ...] = ("scrapy", "crawlee-files", "crawlee-sql")

CRAWLS = (
    Row(
        name="crawl",
        what="2,000 lists and details, a row of each upserted with `synchronous=NORMAL`, from the first "
        "request to the last",
        figure="pages_s",
        unit="pages/s",
        better="more",
        target=1_000,
        peers=(*CRAWLERS, "plain"),
    ),
    Row(
        name="crawl-pages",
        what="the same with a row of the page itself, too, which is the default",
        figure="pages_s",
        unit="pages/s",
        better="more",
    ),
    Row(
        name="crawl-full",
        what="the same as `crawl-pages` with `synchronous=FULL`, which is the default",
        figure="pages_s",
        unit="pages/s",
        better="more",
    ),
    Row(
        name="crawl-cpu",
        what="processor time of a page, with the start and the end of the crawl",
        figure="cpu_ms",
        unit="ms",
        peers=(*CRAWLERS, "plain"),
        case="crawl",
    ),
    Row(
        name="crawl-page",
        what="processor time of one page more",
        figure="cpu_ms",
        unit="ms",
    ),
    Row(
        name="crawl-memory",
        what="resident memory of the process, at most",
        figure="rss_mib",
        unit="MiB",
        target=110,
        peers=(*CRAWLERS, "plain"),
        case="crawl",
    ),
    Row(
        name="crawl-growth",
        what="what 10,000 pages take more of it than 1,000",
        figure="rss_mib",
        unit="MiB",
        target=30,
    ),
)

RESUMES = (
    Row(
        name="resume",
        what="pages of 600 that have no row at the end",
        figure="lost",
        unit="pages",
        better="",
        target=0,
        peers=RESUMERS,
    ),
    Row(
        name="resume-again",
        what="writes of rows that were there before",
        figure="again",
        unit="rows",
        better="",
        target=0,
        peers=RESUMERS,
        case="resume",
    ),
    Row(
        name="resume-repeated",
        what="pages fetched again, as the site counts them",
        figure="repeated",
        unit="pages",
        better="",
        target=50,
        peers=RESUMERS,
        case="resume",
    ),
    Row(
        name="resume-exit",
        what="exit code of the second run",
        figure="exit_code",
        unit="",
        better="",
        target=0,
        peers=RESUMERS,
        case="resume",
    ),
    Row(
        name="resume-seconds",
        what="until the second run ended; it is cut off after 60 s",
        figure="seconds",
        unit="s",
        better="",
        peers=RESUMERS,
        case="resume",
    ),
    Row(
        name="resume-whole",
        what="until the second run had stored the last page",
        figure="rows_s",
        unit="s",
        better="",
        peers=RESUMERS,
        case="resume",
    ),
    Row(
        name="resume-thrice",
        what="killed at 25, 50 and 75 %: pages that have no row at the end",
        figure="lost",
        unit="pages",
        better="",
        target=0,
    ),
    Row(
        name="resume-thrice-again",
        what="the same: writes of rows that were there before",
        figure="again",
        unit="rows",
        better="",
        target=0,
        case="resume-thrice",
    ),
    Row(
        name="resume-thrice-repeated",
        what="the same: pages fetched again",
        figure="repeated",
        unit="pages",
        better="",
        target=150,
        case="resume-thrice",
    ),
    Row(
        name="resume-thrice-seconds",
        what="the same: until the last run ended",
        figure="seconds",
        unit="s",
        better="",
        case="resume-thrice",
    ),
)
