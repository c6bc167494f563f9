"""A report as one self-contained HTML page: no network, no script, no font."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Iterator, Sequence
from functools import cache
from importlib.resources import files

from agentic.executors.reports.facts import RunReport
from agentic.executors.reports.markup import Html, element
from agentic.executors.reports.parts import Section, bullets
from agentic.executors.reports.sections_crawl import (
    dead_letters_section,
    failures_section,
    hosts_section,
    proxies_section,
    strategies_section,
    timeline_section,
)
from agentic.executors.reports.sections_rows import changes_section, rows_section
from agentic.executors.reports.sections_run import graph_section, head, moment, steps_section, tiles

POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
"""Browsers may only show the page. Nothing in it is run or loaded."""

DISTRIBUTION = "agentic-pipelines"


def render(report: RunReport) -> str:
    """Return a report as HTML."""
    found = list(sections(report))
    title = f"{report.header.pipeline or report.header.agent} · {report.header.status} · run report"
    body = element(
        "body",
        head(report),
        element("main", tiles(report), _contents(found), *[section.card() for section in found]),
        _foot(report),
    )
    return f"<!DOCTYPE html>\n{element('html', _document_head(title), body, lang='en')}\n"


def sections(report: RunReport) -> Iterator[Section]:
    """Yield the sections that have content."""
    if report.timeline is not None and report.timeline.total > 1:
        yield timeline_section(report.timeline)
    yield from _trouble(report)
    if report.changes is not None:
        yield changes_section(report.changes)
    if report.hosts:
        yield hosts_section(report.hosts, report.host_count)
    if report.proxies:
        yield proxies_section(report.proxies)
    if report.tables or any(report.rows.values()):
        yield rows_section(report.rows, report.tables)
    if report.graph:
        yield graph_section(report.graph, is_changed=report.header.is_changed)
    if report.steps:
        yield steps_section(report.steps)


def _trouble(report: RunReport) -> Iterator[Section]:
    if report.failures:
        yield failures_section(report.failures)
    if report.strategies.page_count:
        yield strategies_section(report.strategies)
    if report.letters:
        yield dead_letters_section(report.letters, report.letter_count)
    if report.warnings:
        about = "Problems in parts of the results."
        yield Section("warnings", "Warnings", about, bullets(report.warnings))


def _document_head(title: str) -> Html:
    return element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("meta", http_equiv="Content-Security-Policy", content=POLICY),
        element("title", title),
        element("style", Html(style_sheet())),
    )


@cache
def style_sheet() -> str:
    """Return the CSS of reports."""
    return files("agentic.executors.reports").joinpath("style.css").read_text(encoding="utf-8")


def _contents(found: Sequence[Section]) -> Html:
    links = [element("a", section.title, href=f"#{section.anchor}") for section in found]
    return element("nav", *links, aria_label="Sections")


def _foot(report: RunReport) -> Html:
    version = importlib.metadata.version(DISTRIBUTION)
    made = f"Made {moment(report.header.made_at)} by {DISTRIBUTION} {version}, from the database."
    return element("footer", made)
