"""``agentic pipelines build``: makes a pipeline from an intent, or from example values of pages."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from urllib.parse import urlsplit

import typer

from agentic.core.cli import print_json, print_line
from agentic.core.hooks import get_registry
from agentic.executors.building.by_words import options_of, plan_by_words
from agentic.executors.building.choosing import choose_plan
from agentic.executors.building.examples_file import ExampleRow, read_examples, read_examples_file
from agentic.executors.building.plans import BuildRequest, Plan
from agentic.executors.building.tables import Checked, print_plan
from agentic.executors.commands.shared.options import AsJson, OptionError, write_file
from agentic.executors.commands.shared.yaml_text import yaml_text

if TYPE_CHECKING:
    from agentic.core.pipeline import IntentSpec, PipelineSpec
    from agentic.core.wrappers import PageTree

MAX_PAGES = 5
_SCHEMES = ("http://", "https://")


def build(  # noqa: PLR0913 - one option each
    target: Annotated[
        str | None,
        typer.Argument(
            metavar="FILE|URL",
            help="File with an intent, a page with the values, or a list that leads to it.",
        ),
    ] = None,
    *,
    example: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUE", help="A field, and its value on the page; a list if repeated. Repeatable."
        ),
    ] = None,
    examples: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="CSV with a column url and one for each field; three rows are enough."
        ),
    ] = None,
    page: Annotated[
        list[str] | None,
        typer.Option(
            metavar="URL", help="Another page of the same kind, to check the selectors. Repeatable."
        ),
    ] = None,
    words: Annotated[
        str | None,
        typer.Option(help="The data you want, in your own words; a model picks among the places found."),
    ] = None,
    model: Annotated[
        str | None, typer.Option(help="With --words: model to ask, such as ollama:llama3.2.")
    ] = None,
    record: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.jsonl",
            help="With --words: write the replies here; --model replay:FILE gives them again.",
        ),
    ] = None,
    rows: Annotated[
        bool | None,
        typer.Option(
            "--rows/--no-rows", help="The values are of rows in a list, or not. Default: as the page shows."
        ),
    ] = None,
    pick: Annotated[
        int | None,
        typer.Option(metavar="NUMBER", min=1, help="Without examples: build this one of the offers."),
    ] = None,
    interactive: Annotated[bool, typer.Option("--interactive", help="Ask about each field.")] = False,
    name: Annotated[
        str | None,
        typer.Option(help="Name of the pipeline. Default: as the file in --out, or as the site."),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Write the pipeline to this YAML file.")] = None,
    replace: Annotated[bool, typer.Option("--replace", help="Replace an existing file in --out.")] = False,
    wrappers: Annotated[
        Path | None,
        typer.Option(help="Write how the fields look to this file, for `agentic pipelines repair`."),
    ] = None,
    builder: Annotated[str, typer.Option(help="Builder to use.")] = "rules",
    allow_private_host: Annotated[
        list[str] | None, typer.Option(metavar="HOST", help="Allow this private host.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Build a pipeline from an intent, or from example values of pages or words, and print it.

    Without --words no model is asked: each value is looked for on its page,
    and the selectors are checked on all pages. Without examples the command
    lists the offers of the page.
    """
    if out is not None and out.exists() and not replace:
        raise OptionError(f"--out: {out} exists; choose another file, or replace it with --replace")
    known = _examples(example or (), examples)
    target = _target(target, known)
    name = name or _name(target, out)
    if not target.startswith(_SCHEMES):
        if example or examples or page or wrappers or words or pick or interactive:
            raise OptionError(
                f"--example, --words, --page and --wrappers need the URL of a page, not {target!r}"
            )
        _print_spec(_built(_read_intent(Path(target)), builder), out, as_json=as_json)
        return
    if len(page or ()) >= MAX_PAGES:
        raise OptionError(
            f"--page is given {len(page or ())} times; {MAX_PAGES - 1} further pages are enough"
        )
    hosts = tuple(allow_private_host or ())
    found: tuple[Plan, Mapping[str, Checked], list[PageTree]] | None
    if words is not None or model is not None or record is not None:
        if known or pick or interactive:
            raise OptionError("--words, --model and --record exclude --example, --pick and --interactive")
        asking = options_of(words, model, record, name, hosts)
        _check_builder(builder)
        found = asyncio.run(plan_by_words(asking, [target, *(page or ())]))
    else:
        asked = BuildRequest(target, known, tuple(page or ()), name, hosts, rows)
        found = asyncio.run(choose_plan(asked, pick, is_asking=interactive, is_quiet=as_json))
    if found is None:
        return
    plan, checked, trees = found
    if wrappers is not None:
        _write_wrappers(wrappers, plan, trees)
    _print_spec(_built(plan.intent, builder), out, as_json=as_json, found=(plan, checked))


def _name(target: str, out: Path | None) -> str:
    """Return the name of a pipeline for a file or a site, so that two of them are two agents."""
    try:
        given = (urlsplit(target).hostname or "") if out is None else out.stem
    except ValueError:  # the fetch says so
        given = ""
    kept = "".join(char if char.isascii() and (char.isalnum() or char in "_.-") else "-" for char in given)
    return kept[:100] if kept.strip("-") else "pipeline"


def _target(given: str | None, known: Sequence[ExampleRow]) -> str:
    """Return the file or page to build from: the given one, or the page of the first example."""
    target = given or (known[0].url if known else "")
    if not target:
        raise OptionError("give a file with an intent, the URL of a page, or --examples with a column url")
    return target


def _examples(given: Sequence[str], path: Path | None) -> list[ExampleRow]:
    if given and path is not None:
        raise OptionError("--example and --examples exclude each other; put all values in the file")
    return read_examples(given) if path is None else read_examples_file(path)


def _built(intent: IntentSpec, builder: str) -> PipelineSpec:
    _check_builder(builder)
    registry = get_registry()
    return asyncio.run(registry.builders[builder](registry.actors).build(intent))


def _check_builder(builder: str) -> None:
    from agentic.core.pipeline.expressions.suggestions import unknown_word

    known = get_registry().builders
    if not known.is_taken(builder):
        raise OptionError(f"--builder: {unknown_word('builder', builder, known)}")


def _print_spec(
    spec: PipelineSpec,
    out: Path | None,
    *,
    as_json: bool,
    found: tuple[Plan, Mapping[str, Checked]] | None = None,
) -> None:
    from agentic.mappers.catalog.pipelines import as_written

    for warning in found[0].warnings if found is not None else ():
        typer.echo(warning, err=True)
    if out is not None:
        write_file(out, yaml_text(as_written(spec)).encode(), "--out")
    if as_json:
        print_json(as_written(spec))
    elif out is None:
        sys.stdout.write(yaml_text(as_written(spec)))
    else:
        if found is not None:
            print_plan(*found)
        print_line(f"wrote {out}; run it with: agentic run {out}")


def _write_wrappers(path: Path, plan: Plan, trees: Sequence[PageTree]) -> None:
    from agentic.core.wrappers import encode, learn, observation_of
    from agentic.core.wrappers.rules import wrapper_of_rule

    if plan.kind == "rows":
        raise OptionError("--wrappers is for fields of pages; crawls learn how the fields of rows look")
    made = {name: wrapper_of_rule(name, rule) for name, rule in plan.intent.fields.items()}
    known = {name: wrapper for name, wrapper in made.items() if wrapper is not None}
    for tree in trees:
        known = learn(known, observation_of(tree, tree.url, known))
    write_file(path, b"".join(encode(wrapper) + b"\n" for wrapper in known.values()), "--wrappers")


def _read_intent(path: Path) -> IntentSpec:
    from pydantic import ValidationError

    from agentic.core.pipeline import IntentSpec
    from agentic.core.reading.data_text import DataTextError, read_data

    try:
        return IntentSpec.model_validate(read_data(path.read_text(encoding="utf-8")).data)
    except OSError as exc:
        raise OptionError(f"{path} cannot be read ({exc.strerror}); check the path") from None
    except UnicodeDecodeError:
        raise OptionError(f"{path} is neither YAML nor JSON; correct it") from None
    except DataTextError as exc:
        raise OptionError(f"{path} cannot be read as YAML or JSON: {exc}") from None
    except ValidationError as exc:
        faults = "; ".join(f"{'.'.join(map(str, e['loc'])) or 'it'}: {e['msg']}" for e in exc.errors())
        raise OptionError(f"{path} is not a valid intent: {faults}") from None
