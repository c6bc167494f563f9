"""No text from outside meets a regular expression that backtracks."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from agentic.core.linear import LinearPattern

ROOT = Path(__file__).parents[2]
ROOMS = ("core", "executors", "fakes", "mappers", "migrations", "plugins")
BACKTRACKING = ("re", "regex", "sre_compile", "fnmatch")

# Module -> why its patterns may be those of `re`. All others are compiled by `agentic.core.linear`.
ALLOWED = {
    "agentic.core.actors.failures": "names of failure classes: one anchored pattern of fixed length",
    "agentic.core.bus.kv": "keys of our own: anchored, each character decides",
    "agentic.core.bus.subjects": "single characters, and tokens of our own",
    "agentic.core.cli.plugin_new": "what its user types",
    "agentic.core.cli.replay.steps": "what its user types",
    "agentic.core.graph.codec.builtins": "names of time zones of our own checkpoints: anchored",
    "agentic.core.graph.versions.fingerprints": "the type alone",
    "agentic.core.graph.codec.hints": "names in code",
    "agentic.core.graph.names": "names of runs: anchored, each character decides",
    "agentic.core.graph.checkpoints.restore": "numbers of our own checkpoints: anchored, of bounded length",
    "agentic.core.graph.checkpoints.snapshots": "a digest of our own: of fixed length",
    "agentic.core.views.texts": "single characters",
    "agentic.core.cli.output": "a number: anchored",
    "agentic.core.hooks.fitting": "requirements of installed distributions: each character decides",
    "agentic.core.hooks.offers": "names of actors in a spec: each character decides",
    "agentic.core.linear.pattern": "flags alone",
    "agentic.core.linear.translation": "the parser alone",
    "agentic.core.masking": "names of settings; escapes for patterns that are compiled as linear ones",
    "agentic.core.pipeline.spec.amounts": "limits of a spec: anchored, of bounded length",
    "agentic.core.pipeline.expressions.expressions": "references of a spec: anchored, each character decides",
    "agentic.core.pipeline.crawl.follow": "globs: what stands for a star is atomic",
    "agentic.core.pipeline.policies.policies": "keys of a spec: anchored, of fixed length",
    "agentic.core.pipeline.expressions.references": "references of a spec: each character decides",
    "agentic.core.reading.clocks": "texts of at most 200 characters: what may repeat is possessive",
    "agentic.core.reading.loose_json": "tried at one place; what repeats is possessive",
    "agentic.core.reading.feeds": "times: of bounded length",
    "agentic.core.reading.lenient_xml": "tried at one place, or of bounded length",
    "agentic.core.reading.refreshes": "of bounded length",
    "agentic.core.remote_files": "a URL of its user: anchored, each character decides",
    "agentic.core.reading.dates": "texts of at most 200 characters",
    "agentic.core.sandbox.model": "globs of a job for names of at most 200 characters: a star is atomic",
    "agentic.core.secret_names": "anchored, of bounded length",
    "agentic.core.settings": "settings and errors: parts of bounded length, each character decides",
    "agentic.core.stores.redis_server": "errors of a server of our own",
    "agentic.core.terminal": "single characters",
    "agentic.core.wrappers.addresses": "names of files of at most 100 characters",
    "agentic.core.wrappers.building.addresses": "globs of our own, one star for a folder",
    "agentic.core.wrappers.building.expressions": "texts of at most 300 characters",
    "agentic.core.wrappers.building.matching": "texts of at most 80 characters",
    "agentic.core.wrappers.building.naming": "texts of at most 40 characters, or each character decides",
    "agentic.core.wrappers.building.paging": "addresses of at most 300 characters",
    "agentic.core.wrappers.amounts": "texts of at most 80 characters",
    "agentic.core.wrappers.data": "each character decides",
    "agentic.core.wrappers.selecting": "names of at most 40 characters, or each character decides",
    "agentic.core.wrappers.tree": "names of elements: each character decides",
    "agentic.core.wrappers.values": "texts of at most 80 characters, or each character decides",
    "agentic.core.wrappers.words": "single characters",
    "agentic.executors.commands.executions.exporting": "single characters",
    "agentic.executors.commands.runs.views": "ids of our own: of fixed length",
    "agentic.executors.commands.run.command": "what its user types: anchored, each character decides",
    "agentic.executors.exports.columns": "anchored, of fixed length",
    "agentic.executors.exports.sql_tables": "what its user types: anchored, each character decides",
    "agentic.executors.notifications.sending": "single characters",
    "agentic.executors.notifications.targets": "a URL of its user: anchored, each character decides",
    "agentic.executors.projects.parts": "keys of a config: anchored, each character decides",
    "agentic.executors.reports.markup": "single characters",
    "agentic.executors.reports.masking": "names of settings; an address up to its end",
    "agentic.executors.reports.sections_rows": "times of our own: anchored",
    "agentic.executors.schedules.times": "what its user types: anchored, of bounded length",
    "agentic.mappers.catalog.executions": "warnings of our own: fixed words and a number",
    "agentic.mappers.catalog.pipelines": "names of pipelines: anchored, each character decides",
    "agentic.plugins.web.login.logins": "names of headers and hosts of a spec: anchored",
    "agentic.plugins.web.reading.currencies": "texts of at most 2,000 characters: each character decides",
    "agentic.plugins.web.reading.digits": "each character decides",
    "agentic.plugins.web.reading.json_data": "tried at one place; each character decides",
    "agentic.plugins.web.reading.file_addresses": "tried at one place; what repeats is possessive",
    "agentic.plugins.web.reading.sitemaps": "of bounded length",
    "agentic.plugins.web.reading.html": "the beginning of a tag: of bounded length",
    "agentic.plugins.web.reading.odd_digits": "texts of at most 2,000 characters, and one start for each run",
    "agentic.plugins.web.reading.numbers": "texts of at most 2,000 characters: each character decides",
}


USES = re.compile(rf"^ *(?:import|from) (?:{'|'.join(BACKTRACKING)})\b", re.MULTILINE)


def _sources() -> Iterator[tuple[str, str]]:
    for room in ROOMS:
        for path in sorted((ROOT / room / "agentic" / room).rglob("*.py")):
            name = ".".join(path.relative_to(ROOT / room).with_suffix("").parts)
            is_for_tests = ".fakes" in name or ".testing" in name
            # The client has tests of its own: it reads heads of answers and robots.txt.
            if not is_for_tests and not name.startswith("agentic.core.http."):
                yield name, path.read_text(encoding="utf-8")


SOURCES = dict(_sources())


def test_only_modules_that_say_why_use_a_backtracking_engine() -> None:
    using = {name for name, text in SOURCES.items() if USES.search(text)}
    assert using - ALLOWED.keys() == set(), "use agentic.core.linear, or say here why the text is bounded"
    assert ALLOWED.keys() - using == set(), "these no longer use one; take them off the list"


def _own_patterns() -> Iterator[tuple[str, LinearPattern]]:
    for name, text in SOURCES.items():
        if "= LinearPattern(" in text:
            for attribute, value in vars(importlib.import_module(name)).items():
                if isinstance(value, LinearPattern):
                    yield f"{name}.{attribute}", value


PATTERNS = dict(_own_patterns())


def test_there_are_patterns_of_our_own() -> None:
    assert len(PATTERNS) > 15


@pytest.mark.parametrize("name", PATTERNS)
def test_each_pattern_of_our_own_is_linear(name: str) -> None:
    assert PATTERNS[name].compiled() is PATTERNS[name]
