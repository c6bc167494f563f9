"""``agentic pipelines repair``: finds fields and other parts again that break by a redesign."""

from __future__ import annotations

import asyncio
import copy
import csv
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from agentic.core.cli import print_json, print_line, print_rows
from agentic.core.types import JSONValue
from agentic.executors.commands.part_repairs import as_row, look_at, name_of_actor, print_repairs
from agentic.executors.commands.runs.views import shown_id
from agentic.executors.commands.shared.looks import learnt_wrappers, read_wrappers
from agentic.executors.commands.shared.options import AsJson, DryRun, InProject, OptionError, write_file
from agentic.executors.commands.shared.repaired_agents import propose, read_agent
from agentic.executors.commands.shared.yaml_text import yaml_text

if TYPE_CHECKING:
    from agentic.core.pipeline import PipelineSpec
    from agentic.core.pipeline.repairs.proposals import Repair
    from agentic.core.pipeline.repairs.searches import SeenPage
    from agentic.core.wrappers import Abstained, Found, PageTree, PlaceChoice, StoredPage, Wrapper
    from agentic.mappers import AgentModel

MAX_PAGES = 6
_SHOWN = 40
_SHOWN_PAGES = 3
Place = tuple[str | int, ...]
Rules = dict[str, JSONValue]
Row = dict[str, JSONValue]


def propose_repair(  # noqa: PLR0913 - one option each
    target: Annotated[
        str,
        typer.Argument(
            metavar="AGENT|FILE|NAME", help="Agent; with --rows a pipeline file, NAME or NAME@VERSION."
        ),
    ],
    *,
    rows: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Rows of an earlier run with their url, as JSON, JSON lines or CSV; six are enough. "
            "Default: the stored rows of the agent.",
        ),
    ] = None,
    wrappers: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE",
            help="How the fields looked, from `pipelines build` or `pipelines wrappers`, "
            "instead of the stored looks. Repeatable.",
        ),
    ] = None,
    choose: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FIELD=N", help="Take the N-th of the places that --json lists for a field. Repeatable."
        ),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(
            help="Ask this model once, such as ollama:llama3.2, to choose a place for each field "
            "without a sure one, from ten at most."
        ),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Write the repaired pipeline to this YAML file.")] = None,
    allow_private_host: Annotated[
        list[str] | None, typer.Option(metavar="HOST", help="Allow this private host.")
    ] = None,
    dry_run: DryRun = False,
    project: InProject = None,
    as_json: AsJson = False,
) -> None:
    """Find fields whose selectors stopped matching after a redesign, and print new rules.

    Start pages that moved, lists, links to the next page, keys of JSON and
    login forms are looked at, too. The pages of the rows are fetched. A
    part without a sure new place stays as it is. The repair of an agent is
    stored as a proposal: check it, then accept it with `agentic repairs
    accept`. With --rows nothing is stored.
    """
    from agentic.core.pipeline.repairs.proposals import RepairProposal, apply_changes
    from agentic.core.wrappers import Found, StoredPage, with_locators
    from agentic.core.wrappers import choose as take_choice

    source = _source(target, rows, project)
    spec, all_rows = source.spec, source.rows
    data: JSONValue = copy.deepcopy(source.data)
    rules_at, rules = _rules_in(data)
    rules_before = copy.deepcopy(rules)
    private_hosts = [*(allow_private_host or ()), *source.private_hosts]
    files = [one for path in wrappers or () for one in read_wrappers(path)]
    given = files or learnt_wrappers(source.in_effect, project, rules)
    _check_parts(target, data, rules)
    urls = [str(row["url"]) for row in all_rows[:MAX_PAGES]] if rules else []
    seen, repairs = asyncio.run(look_at(data, all_rows, urls, private_hosts))
    trees, stored = _readable(seen, all_rows)
    if urls and not trees and not repairs:
        raise OptionError(f"no page of the rows can be read: {_fault_of(seen[0])}")
    known = _wrappers(rules, stored, trees, given)
    seen_before = {one.name: one for one in given}
    broken = [name for name in known if not _works(known[name], trees, stored, seen_before.get(name))]
    pages = [StoredPage(tree, row) for tree, row in zip(trees, stored, strict=True)]
    results = _results(known, pages, broken, model)
    for name, place in _chosen(choose or (), results):
        results[name] = take_choice(known, pages, name, place)
    for name, result in results.items():
        if isinstance(result, Found):
            rules[name] = with_locators(rules[name], result.locators, is_list=known[name].is_list)
    found = [_row(name, known[name], results.get(name)) for name in known] if trees else []
    if as_json:
        print_json([*found, *map(as_row, repairs)])
    else:
        _print_fields(found, repairs, unread=len(urls) - len(trees))
    changes = [change for one in repairs if isinstance(one, RepairProposal) for change in one.changes]
    data = apply_changes(data, changes)
    if out is not None:
        write_file(out, yaml_text(data).encode(), "--out")
        if not as_json:
            print_line(f"wrote {out}")
    of_fields = _field_repairs(results, rules_at, rules_before, rules)
    if source.agent is not None and not dry_run:
        said = _propose(source.agent, spec, source.data, [*of_fields, *repairs])
        if said and not as_json:
            print_line(said)


def _propose(agent: AgentModel, spec: PipelineSpec, data: JSONValue, worked_out: Sequence[Repair]) -> str:
    """Store repairs if a part is found; return the next step, "" if no part is broken."""
    from agentic.core.pipeline.repairs.proposals import RepairProposal

    if not any(isinstance(one, RepairProposal) for one in worked_out):
        return "nothing is proposed: no broken part has a sure new place" if worked_out else ""
    repair_id = propose(agent, spec, data, worked_out)
    return f"proposed; see it with: agentic repairs show {shown_id(repair_id)}"


def _check_parts(target: str, data: JSONValue, rules: Rules) -> None:
    from agentic.core.pipeline.repairs.spec_parts import parts_of

    if not rules and not parts_of(data, name_of_actor).has_any:
        raise OptionError(
            f"{target} has no part that can be repaired: a schema of fields, a list, JSON, a login form, or "
            "a start page that is known before the run"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Source:
    """A pipeline with rows; ``agent`` is None if both were given by hand."""

    spec: PipelineSpec
    data: JSONValue
    rows: Sequence[Row]
    agent: AgentModel | None = None

    @property
    def in_effect(self) -> PipelineSpec:
        """The pipeline with its accepted repairs."""
        from agentic.core.pipeline import PipelineSpec

        return PipelineSpec.model_validate(self.data)

    @property
    def private_hosts(self) -> Sequence[str]:
        return () if self.agent is None else self.spec.http.allow_private_hosts


def _source(target: str, rows: Path | None, project: str | None) -> _Source:
    from agentic.core.pipeline import FILE_ENDINGS
    from agentic.executors.commands.pipelines import read_pipeline
    from agentic.mappers.catalog.pipelines import as_written

    if rows is not None:
        spec = read_pipeline(target, project)
        return _Source(spec=spec, data=as_written(spec), rows=_stored_rows(rows))
    if target.endswith(FILE_ENDINGS):
        raise OptionError(f"{target} is a file: give rows of an earlier run with --rows, or name its agent")
    found = read_agent(target, project)
    return _Source(spec=found.spec, data=found.data, rows=found.rows, agent=found.agent)


def _field_repairs(
    results: Mapping[str, Found | Abstained],
    place: tuple[str | int, ...],
    before: Rules,
    after: Rules,
) -> list[Repair]:
    """Return the results for fields as repairs of the pipeline."""
    from agentic.core.pipeline.repairs.proposals import (
        ProposalEvidence,
        RepairAbstention,
        RepairProposal,
        SpecChange,
    )
    from agentic.core.wrappers import Found, locators_of

    repairs: list[Repair] = []
    for name, one in results.items():
        if isinstance(one, Found):
            old = next(iter(locators_of(before[name])))
            repairs.append(
                RepairProposal(
                    kind="field",
                    subject=name,
                    changes=(SpecChange(place=(*place, name), old=before[name], new=after[name]),),
                    score=one.place.probability,
                    runner_up=one.runner_up,
                    note=f"{old.path} -> {one.locators[0].path}",
                    evidence=tuple(
                        ProposalEvidence(url=seen.url, old=seen.old, new=seen.new[0] if seen.new else None)
                        for seen in one.evidence[:_SHOWN_PAGES]
                    ),
                )
            )
        else:
            repairs.append(RepairAbstention(kind="field", subject=name, reason=one.reason, score=one.best))
    return repairs


def _results(
    known: Mapping[str, Wrapper], pages: Sequence[StoredPage], broken: Sequence[str], model: str | None
) -> dict[str, Found | Abstained]:
    from agentic.core.wrappers import repair

    results = repair(known, pages, broken)
    return results if model is None else asyncio.run(_ask(model, known, pages, results))


async def _ask(
    model: str,
    known: Mapping[str, Wrapper],
    pages: Sequence[StoredPage],
    results: Mapping[str, Found | Abstained],
) -> dict[str, Found | Abstained]:
    from agentic.core.llm import llm
    from agentic.core.pipeline.intent_inference.conversing import Conversation
    from agentic.core.pipeline.repairs.choosing import choose_places
    from agentic.executors.building.by_words import own_model

    async with llm(own_model(model)) as asked:
        return await choose_places(Conversation(asked), known, pages, results)


def _print_fields(found: Sequence[Row], repairs: Sequence[Repair], *, unread: int) -> None:
    if found:
        shown = [{**row, "new": str(row["new"])[:_SHOWN], "selector": str(row["selector"])} for row in found]
        print_rows("Fields", ["field", "state", "selector", "new", "score"], shown)
    if unread:
        print_line(f"pages of the rows that are gone, or show a wall: {unread}")
    if repairs:
        print_repairs(repairs)
    elif not found:
        print_line("no broken part was found")


def _readable(seen: Sequence[SeenPage], rows: Sequence[Row]) -> tuple[list[PageTree], list[Row]]:
    """Return the pages that still show their rows, and these rows."""
    from agentic.core.pipeline.repairs.start_pages import start_fault

    pairs = [
        (one.tree, row)
        for one, row in zip(seen, rows, strict=False)
        if one.tree is not None and start_fault(one.sight) is None
    ]
    return [tree for tree, _ in pairs], [row for _, row in pairs]


def _fault_of(seen: SeenPage) -> str:
    from agentic.core.pipeline.repairs.start_pages import start_fault

    fault = start_fault(seen.sight)
    if fault is not None:
        return f"{seen.url} {fault.message}"
    return seen.fault or f"{seen.final_url} is not HTML; give pages that people read"


def _rules_in(data: JSONValue) -> tuple[Place, Rules]:
    """Return the place of the first schema of fields in a spec, and the schema, to be changed in place."""
    return next(_schemas(data, ()), ((), {}))


def _schemas(data: JSONValue, place: Place) -> Iterator[tuple[Place, Rules]]:
    if isinstance(data, dict):
        config = data.get("config")
        schema = config.get("schema") if isinstance(config, dict) else None
        if isinstance(schema, dict):
            yield (*place, "config", "schema"), schema
        for key, value in data.items():
            yield from _schemas(value, (*place, key))
    elif isinstance(data, list):
        for index, value in enumerate(data):
            yield from _schemas(value, (*place, index))


def _stored_rows(path: Path) -> list[Row]:
    """Return the rows of a file that have an address."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as exc:
        raise OptionError(f"--rows: {path} cannot be read ({exc.strerror}); check the path") from None
    except UnicodeDecodeError:
        raise OptionError(f"--rows: {path} is not UTF-8") from None
    try:
        rows = _parsed(path, text)
    except (ValueError, csv.Error) as exc:
        raise OptionError(f"--rows: {path} cannot be read as JSON, JSON lines or CSV: {exc}") from None
    usable = [row for row in rows if str(row.get("url", "")).startswith("http")]
    if not usable:
        raise OptionError(f"--rows: no row of {path} has a url; export the rows of an earlier run with it")
    return usable


def _parsed(path: Path, text: str) -> list[Row]:
    if path.suffix == ".csv":
        return [
            {key: _cell(value) for key, value in row.items()} for row in csv.DictReader(text.splitlines())
        ]
    if path.suffix == ".jsonl":
        lines = (json.loads(line) for line in text.splitlines() if line.strip())
        return [row for row in lines if isinstance(row, dict)]
    data = json.loads(text)
    rows = data if isinstance(data, list) else [data]
    return [row for row in rows if isinstance(row, dict)]


def _cell(text: str | None) -> JSONValue:
    if text and text[0] in "[{":
        try:
            return cast(JSONValue, json.loads(text))
        except ValueError:
            return text
    return text or None


def _wrappers(
    rules: Mapping[str, JSONValue], stored: Sequence[Row], trees: Sequence[PageTree], given: Sequence[Wrapper]
) -> dict[str, Wrapper]:
    """Return the wrapper of each field: as it was learnt, else from its stored values."""
    from agentic.core.wrappers import learn, locators_of, merge, observation_of, wrapper_of_values
    from agentic.core.wrappers.rules import comparable, kind_of_values

    known: dict[str, Wrapper] = {}
    for name, rule in rules.items():
        values = [value for row in stored if (value := comparable(row.get(name))) not in (None, "", [])]
        if locators := locators_of(rule):
            known[name] = wrapper_of_values(
                name, values, kind=kind_of_values(rule, values), locators=locators
            )
    for tree in trees:
        seen = observation_of(tree, tree.url, known)
        known |= learn({name: known[name] for name in seen.found}, seen)
    looks: dict[str, Wrapper] = {}
    for wrapper in given:
        looks[wrapper.name] = merge(looks[wrapper.name], wrapper) if wrapper.name in looks else wrapper
    # The rule says where a field is now, its wrapper how it looked; values in data have no look.
    known |= {
        name: replace(one, kind=known[name].kind, locators=known[name].locators)
        for name, one in looks.items()
        if name in known and one.fingerprint.samples
    }
    return known


def _chosen(
    given: Sequence[str], results: Mapping[str, Found | Abstained]
) -> Iterator[tuple[str, PlaceChoice]]:
    """Yield the field and the place of each ``FIELD=N``."""
    for text in given:
        name, _, number = text.partition("=")
        if name not in results:
            fields = ", ".join(results) or "none"
            raise OptionError(f"--choose {text}: {name!r} is not a broken field (broken: {fields})")
        choices = results[name].choices
        if not (number.isdecimal() and 1 <= int(number) <= len(choices)):
            raise OptionError(f"--choose {text}: {name} has places 1 to {len(choices)}; --json lists them")
        yield name, choices[int(number) - 1]


def _works(
    wrapper: Wrapper, trees: Sequence[PageTree], stored: Sequence[Row], before: Wrapper | None
) -> bool:
    """Return whether a field is still found on half of the pages that had a value for it.

    Without values, it has to be on half as many pages as before.
    """
    from agentic.core.wrappers import finds
    from agentic.core.wrappers.rules import comparable

    had = [
        (tree, value)
        for tree, row in zip(trees, stored, strict=True)
        if (value := comparable(row.get(wrapper.name))) not in (None, "", [])
    ]
    if not had and before is not None and before.pages:
        there = sum(any(finds(locator, tree) for locator in wrapper.locators) for tree in trees)
        return 2 * there >= (1 - before.null_rate) * len(trees)
    return 2 * sum(_still_there(wrapper, tree, value) for tree, value in had) >= len(had)


def _still_there(wrapper: Wrapper, tree: PageTree, value: JSONValue) -> bool:
    """Return whether the first place that gives something gives what may be the field's value."""
    from agentic.core.wrappers import finds, is_plausible

    if found := next((found for one in wrapper.locators if (found := one.read(tree))), []):
        return is_plausible(wrapper, found if wrapper.is_list else found[:1], value)
    return any(finds(locator, tree) for locator in wrapper.locators)


def _row(name: str, wrapper: Wrapper, result: Found | Abstained | None) -> Row:
    from agentic.core.wrappers import Found

    old = wrapper.locators[0].path
    if result is None:
        return {"field": name, "state": "works", "selector": old, "new": "", "score": None}
    if isinstance(result, Found):
        return {
            "field": name,
            "state": "found",
            "selector": result.locators[0].path,
            "new": result.evidence[0].new[0],
            "score": result.place.probability,
            "old_selector": old,
            "runner_up": result.runner_up,
            "evidence": [{"url": one.url, "old": one.old, "new": list(one.new)} for one in result.evidence],
        }
    return {
        "field": name,
        "state": "unsure",
        "selector": old,
        "new": "",
        "score": result.best,
        "reason": result.reason,
        "choices": [
            {"texts": list(one.texts[:3]), "label": one.label, "score": one.probability}
            for one in result.choices
        ],
    }
