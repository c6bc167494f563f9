from __future__ import annotations

import re
from dataclasses import fields, is_dataclass, replace
from html.parser import HTMLParser
from typing import Any

from agentic.executors.reports.facts import Header, RunReport, Timeline
from agentic.executors.reports.page import render

SCRIPT = "</style><script>alert(1)</script><img src=x onerror=alert(1)>"


class Reader(HTMLParser):
    """Keeps the elements of a page, and which are not closed."""

    VOID = frozenset({"meta", "br"})

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def read(text: str) -> Reader:
    reader = Reader()
    reader.feed(text)
    assert reader.open == []
    return reader


def poisoned(value: Any) -> Any:
    """Return facts with a script in each of their texts."""
    if isinstance(value, str):
        return f"{value}{SCRIPT}" if type(value) is str else value
    if is_dataclass(value) and not isinstance(value, type):
        parts = {field.name: poisoned(getattr(value, field.name)) for field in fields(value)}
        return type(value)(**parts)
    if isinstance(value, tuple):
        return tuple(map(poisoned, value))
    if isinstance(value, dict):
        return {poisoned(key): poisoned(part) for key, part in value.items()}
    return value


def test_a_page_says_all_there_is(full: RunReport) -> None:
    text = render(full)
    for said in (
        "shop-crawl", "succeeded", "Reads a shop.", "version 3", "host/2", "http_404", "https://a/gone",
        "handed to browser", "a.example", "Lamp", "items · 1 of 9", "too slow", "a row had no key",
        "40</b> new", "https://a/old", "agentic-graph", "browser 2", "1 min 30 s",
    ):  # fmt: skip
        assert said in text, said


def test_what_there_is_nothing_of_is_left_out(header: Header) -> None:
    text = render(RunReport(header=header, rows={}))
    assert "<section" not in text
    assert "nothing was stored" in text


def test_no_text_of_a_site_is_run_as_a_script(full: RunReport) -> None:
    graph = full.graph
    text = render(replace(poisoned(full), graph=graph))
    reader = read(text)
    assert not {"script", "img", "iframe", "object", "embed"} & {tag for tag, _ in reader.found}
    assert not [name for _, attributes in reader.found for name in attributes if name.startswith("on")]
    assert "alert(1)" in text


def test_a_page_needs_nothing_from_elsewhere_and_is_told_to_load_nothing(full: RunReport) -> None:
    reader = read(render(full))
    loaded = {"src", "srcset", "xlink:href", "data", "action"}
    assert not [tag for tag, attributes in reader.found if loaded & set(attributes)]
    assert "link" not in {tag for tag, _ in reader.found}
    [policy] = [a["content"] for tag, a in reader.found if a.get("http-equiv") == "Content-Security-Policy"]
    assert policy is not None
    assert policy.startswith("default-src 'none'")
    assert "url(" not in render(full)
    assert "@import" not in render(full)


def test_pictures_have_words_for_who_does_not_see_them(full: RunReport) -> None:
    text = render(full)
    plots = re.findall(r'<svg role="img".*?</svg>', text, flags=re.DOTALL)
    assert len(plots) == 3
    assert all("<title>" in plot and "<desc>" in plot for plot in plots)
    reader = read(text)
    bars = [a for tag, a in reader.found if a.get("class") == "track"]
    assert bars
    assert all(a["role"] == "img" and a["aria-label"] for a in bars)


def test_plots_are_there_as_tables_too(full: RunReport) -> None:
    text = render(full)
    assert "<summary>As a table</summary>" in text
    assert "10:00:02.0" in text


def test_colours_follow_the_readers_choice_and_paper(full: RunReport) -> None:
    text = render(full)
    assert "@media (prefers-color-scheme:dark)" in text
    assert "@media print" in text


def test_a_failed_run_says_why_at_the_top(header: Header) -> None:
    failed = replace(header, status="failed", error="no page could be fetched")
    text = render(RunReport(header=failed, rows={}))
    assert text.index("no page could be fetched") < text.index("<main")
    assert 'class="pill bad"' in text


def test_times_that_a_later_execution_took_over_are_told(full: RunReport) -> None:
    assert full.timeline is not None
    assert "the times of 1 page more belong to a later execution" in render(full)
    whole: Timeline = replace(full.timeline, of=14)
    assert "a later execution" not in render(replace(full, timeline=whole))


def test_a_changed_agent_is_told(full: RunReport) -> None:
    changed = replace(full, header=replace(full.header, is_changed=True))
    assert "changed since" in render(changed)
    assert "changed since" not in render(full)


def test_a_run_that_goes_on_has_no_end(header: Header) -> None:
    running = replace(header, status="running", finished_at=None)
    assert "<dt>Ended</dt>" not in render(RunReport(header=running, rows={}))


def test_the_same_facts_give_the_same_page(full: RunReport) -> None:
    assert render(full) == render(full)
