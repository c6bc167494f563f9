"""Sections about a crawl: times, failures, reactions to them, hosts, proxies."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from agentic.core.http.exits.uses import ProxyUse
from agentic.executors.reports.facts import (
    DeadLetterFacts,
    FailureExample,
    FailureFacts,
    HostFacts,
    StrategyFacts,
    StrategyReport,
    Timeline,
    TriedPage,
)
from agentic.executors.reports.markup import NBSP, Html, element, joined, link
from agentic.executors.reports.parts import (
    BarPart,
    Section,
    and_more,
    bullets,
    folded,
    shortened,
    table,
    track,
    word,
)
from agentic.executors.reports.plots import cumulative_plot, rate_plot
from agentic.executors.reports.scales import counted, duration, median, number, share, size

_ACTIONS = {
    "retry": "retried by {}",
    "fallback": "handed to {}",
    "rerun": "{} rerun, then retried",
    "give_up": "failed",
}


def timeline_section(timeline: Timeline) -> Section:
    """Show when pages were fetched."""
    rates = [count / timeline.step_s for count in timeline.counts]
    about = f"{counted(timeline.total, 'page')} in intervals of {duration(timeline.step_s)}"
    if timeline.total < timeline.of:
        about += (
            f"; the times of {counted(timeline.of - timeline.total, 'page')} more belong to a later execution"
        )
    if timeline.ways:
        about += "; fetched by " + ", ".join(f"{way} {number(n)}" for way, n in timeline.ways.items())
    plots = element(
        "div",
        _figure("Pages", "fetched so far", cumulative_plot(timeline)),
        _figure(
            "Pages a second",
            f"median {number(median(rates))}, peak {number(max(rates))}",
            rate_plot(timeline),
        ),
        class_="pair",
    )
    moments = [(timeline.began + timedelta(seconds=n * timeline.step_s)) for n in range(len(rates))]
    rows = [
        (f"{moment:%H:%M:%S}.{moment.microsecond // 100_000}", number(count), number(rate))
        for moment, count, rate in zip(moments, timeline.counts, rates, strict=True)
    ]
    columns = ("from (UTC)", "pages", "pages a second")
    as_table = folded("As a table", table(columns, rows, numeric=columns[1:]))
    return Section("pages", "Pages over time", f"{about}.", joined([plots, as_table]))


def _figure(name: str, aside: str, plot: Html) -> Html:
    return element("figure", element("figcaption", element("b", name), f" · {aside}"), plot)


def failures_section(failures: Sequence[FailureFacts]) -> Section:
    """Show the failures and their messages."""
    total, most = sum(one.count for one in failures), max(one.count for one in failures)
    columns = ("class", "count", "share", " ", "first examples")
    rows = [
        (
            word(one.failure_class),
            number(one.count),
            share(one.count, total),
            track([BarPart(one.failure_class, one.count, "bad")], most),
            bullets(map(_example, one.examples)),
        )
        for one in failures
    ]
    classes = "one class" if len(failures) == 1 else f"{len(failures)} classes"
    about = f"{counted(total, 'failure')} of {classes}."
    return Section("failures", "What failed", about, table(columns, rows, numeric=columns[1:3]))


def _example(example: FailureExample) -> Html:
    if not example.subject:
        return element("span", example.message, class_="said")
    said = example.message.removeprefix(f"{example.subject} ")
    return joined([link(example.subject), element("br"), element("span", said, class_="said")])


def strategies_section(strategies: StrategyReport) -> Section:
    """Show the reactions to failures."""
    columns = ("after", "action", "pages", "recovered", " ")
    rows = [_strategy_row(kind) for kind in strategies.kinds]
    about = f"{counted(strategies.page_count, 'page')} took more than one attempt"
    if strategies.looked_at < strategies.page_count:
        about += f"; this is about the first {number(strategies.looked_at)}"
    pages = [(link(page.url), _tries(page)) for page in strategies.pages]
    listed = folded(
        f"The first {counted(len(pages), 'page')}",
        table(("page", "tries"), pages),
        and_more(len(pages), strategies.page_count),
    )
    content = joined([table(columns, rows, numeric=columns[2:4]), listed])
    return Section("tries", "Retries and fallbacks", f"{about}.", content)


def _strategy_row(kind: StrategyFacts) -> Sequence[str]:
    done = _ACTIONS.get(kind.action, f"{kind.action} {{}}").format(kind.next).strip()
    lost = kind.count - kind.recovered
    return (
        word(kind.failure_class),
        done,
        number(kind.count),
        f"{number(kind.recovered)} · {share(kind.recovered, kind.count)}",
        track([BarPart("recovered", kind.recovered, "ok"), BarPart("failed", lost, "bad")]),
    )


def _tries(page: TriedPage) -> Html:
    ends = ["way"] * (len(page.tries) - 1) + ["way ok" if page.is_done else "way bad"]
    ways = [element("span", one, class_=end) for one, end in zip(page.tries, ends, strict=True)]
    return joined(ways, f"{NBSP}→ ")


def dead_letters_section(letters: Sequence[DeadLetterFacts], total: int) -> Section:
    """Show the dead letters."""
    rows = [(one.step, shortened(one.item), word(one.failure_class), one.message) for one in letters]
    content = joined([table(("step", "item", "class", "message"), rows), and_more(len(rows), total)])
    about = f"{counted(total, 'item')} failed for good and kept."
    return Section("letters", "Dead letters", about, content)


def hosts_section(hosts: Sequence[HostFacts], total: int) -> Section:
    """Show the hosts of the pages."""
    most = max(host.known for host in hosts)
    columns = ("host", "fetched", "failed", "left", " ")
    rows = [
        (
            element("span", host.host, class_="mono"),
            number(host.done),
            number(host.failed),
            number(host.left),
            track(
                [
                    BarPart("fetched", host.done, ""),
                    BarPart("failed", host.failed, "bad"),
                    BarPart("left", host.left, "gray"),
                ],
                most,
            ),
        )
        for host in hosts
    ]
    about = (
        f"{counted(total, 'host')} in all."
        if total <= len(hosts)
        else f"The busiest {len(hosts)} of {number(total)}."
    )
    return Section("hosts", "Hosts", about, table(columns, rows, numeric=columns[1:4]))


def proxies_section(proxies: Sequence[ProxyUse]) -> Section:
    """Show the requests through each of several proxies."""
    columns = ("proxy", "requests", "failed", "received", "failures")
    rows = [
        (
            element("span", use.name.removeprefix("proxy "), class_="mono"),
            number(use.requests),
            number(use.failed),
            size(use.received_bytes),
            use.failures_text,
        )
        for use in proxies
    ]
    about = "By place in the list. Each redirect is a request, and so is robots.txt."
    return Section("proxies", "Proxies", about, table(columns, rows, numeric=columns[1:4]))
