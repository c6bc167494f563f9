"""``agentic pipelines``: checks, draws, builds and stores specs."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agentic.core.cli import print_json, print_line
from agentic.core.cli.later import add_command_at
from agentic.core.hooks import get_registry
from agentic.core.settings import Settings, load_settings
from agentic.core.types import JSONValue
from agentic.executors.commands.shared.completing import pipeline_names
from agentic.executors.commands.shared.database import (
    current_database,
    ensured_project,
    opened,
    ready_database,
)
from agentic.executors.commands.shared.options import AsJson, InProject, OptionError
from agentic.executors.commands.shared.yaml_text import yaml_text

if TYPE_CHECKING:
    from agentic.core.pipeline import Fault, IntentSpec, PipelineSpec

pipelines = typer.Typer(help="Check, draw, build and store pipelines.", no_args_is_help=True)

FileOrName = Annotated[
    str,
    typer.Argument(
        metavar="FILE|NAME", help="Pipeline file, NAME or NAME@VERSION.", autocompletion=pipeline_names
    ),
]
File = Annotated[str, typer.Argument(metavar="FILE", help="YAML or JSON file.")]


@pipelines.command()
def validate(target: FileOrName, *, project: InProject = None, as_json: AsJson = False) -> None:
    """Check a pipeline against the installed actors; faults have line and column."""
    from agentic.core.pipeline import SpecError

    try:
        spec = read_pipeline(target, project)
    except SpecError as exc:
        if not as_json:
            raise
        print_json({"valid": False, "faults": [_fault(fault) for fault in exc.faults]})
        raise typer.Exit(1) from None
    if as_json:
        print_json({"valid": True, "name": spec.name, "faults": []})
    else:
        print_line(f"{target}: pipeline {spec.name} is valid")


@pipelines.command()
def show(
    target: FileOrName,
    *,
    svg: Annotated[Path | None, typer.Option(help="Write the picture to this file.")] = None,
    as_yaml: Annotated[
        bool, typer.Option("--yaml", help="Print the spec, with references resolved.")
    ] = False,
    project: InProject = None,
    as_json: AsJson = False,
) -> None:
    """Draw a pipeline as a Mermaid flowchart or SVG picture, or print its spec with secrets masked.

    Default rules for failures are shown as comments.
    """
    from agentic.core.masking import told
    from agentic.core.pipeline import outline
    from agentic.mappers.catalog.pipelines import as_written

    spec = read_pipeline(target, project)
    if as_json:
        print_json(told(as_written(spec)))
    elif as_yaml:
        sys.stdout.write(yaml_text(told(as_written(spec))) + _default_rules("# "))
    elif svg is not None:
        svg.write_text(outline(spec, get_registry().actors).to_svg(), encoding="utf-8")
        print_line(f"wrote {svg}")
    else:
        sys.stdout.write(outline(spec, get_registry().actors).to_mermaid() + "\n" + _default_rules("%% "))


@pipelines.command()
def schema() -> None:
    """Print the JSON Schema of pipelines for editors, with the config of every installed actor."""
    from agentic.core.pipeline import spec_schema

    print_json(spec_schema(get_registry().actors))


@pipelines.command()
def actors(
    name: Annotated[str | None, typer.Argument(help="Show this actor with its input and output.")] = None,
    *,
    as_json: AsJson = False,
) -> None:
    """List the installed actors, or show one with the JSON Schemas of its input and output."""
    from agentic.core.cli import print_lines
    from agentic.core.pipeline import actor_schema
    from agentic.core.pipeline.spec.spec import unknown_actor

    known = get_registry().actors
    if name is not None:
        if name not in known:
            raise OptionError(unknown_actor(name, known))
        print_json(actor_schema(known[name]))
        return
    rows = [_actor_row(actor_schema(actor)) for actor in sorted(set(known.values()), key=lambda a: a.name)]
    if as_json:
        print_json(rows)
    else:
        print_lines("Actors (details: agentic pipelines actors NAME)", ["name", "does"], rows)


@pipelines.command()
def intent(
    words: Annotated[str, typer.Argument(help="The data you want, and its URL, in your own words.")],
    *,
    model: Annotated[str, typer.Option(help="Model to ask, such as ollama:llama3.2.")],
    as_json: AsJson = False,
) -> None:
    """Turn words into an intent with a model and print it; `build` makes a pipeline of it."""
    import asyncio

    from agentic.core.llm import llm
    from agentic.core.pipeline import ModelIntentInference

    async def infer() -> IntentSpec:
        async with llm(model) as opened_model:
            return await ModelIntentInference(opened_model).infer(words)

    found = asyncio.run(infer()).model_dump(mode="json", exclude_defaults=True)
    if as_json:
        print_json(found)
    else:
        sys.stdout.write(yaml_text(found))


@pipelines.command()
def add(
    file: File,
    *,
    wrappers: Annotated[
        Path | None,
        typer.Option(help="Keep how its fields look, from `pipelines build` or `pipelines wrappers`."),
    ] = None,
    project: InProject = None,
    as_json: AsJson = False,
) -> None:
    """Store a pipeline under its name; a changed one becomes the next version."""
    from agentic.executors.commands.shared.looks import keep_wrappers
    from agentic.mappers.catalog.pipelines import store_pipeline

    settings = load_settings()
    spec = read_pipeline(file, project)
    with opened(ready_database(settings)) as database, database.writing() as session:
        owner = ensured_project(session, project, settings)
        kept, is_new = store_pipeline(session, owner.id, spec)
        count = 0 if wrappers is None else keep_wrappers(session, owner.id, spec, wrappers)
    row = {"name": kept.name, "version": kept.version, "digest": kept.digest, "is_new": is_new}
    if as_json:
        print_json(row)
        return
    said = "is stored" if is_new else "is stored already"
    fields = f", with the looks of {count} fields" if count else ""
    print_line(f"pipeline {kept.name}@{kept.version} {said}{fields}")


@pipelines.command("list")
def list_them(*, project: InProject = None, as_json: AsJson = False) -> None:
    """List the stored pipelines with all their versions."""
    from agentic.core.cli import print_rows
    from agentic.mappers import find_project
    from agentic.mappers.catalog.pipelines import list_pipelines

    settings = load_settings()
    with opened(current_database(settings)) as database, database.reading() as session:
        owner = find_project(session, project or settings.project)
        rows = [
            {"name": kept.name, "version": kept.version, "digest": kept.digest, "created_at": kept.created_at}
            for kept in list_pipelines(session, owner.id)
        ]
    shown = [{**row, "digest": str(row["digest"])[:12]} for row in rows]
    columns = ["name", "version", "digest", "created_at"]
    print_rows(f"Pipelines of {owner.name}", columns, rows if as_json else shown, as_json=as_json)


add_command_at(
    pipelines,
    "agentic.executors.commands.building:build",
    name="build",
    help="Build a pipeline from an intent, or from example values of pages or words, and print it.",
)
add_command_at(
    pipelines,
    "agentic.executors.commands.repairing:propose_repair",
    name="repair",
    help="Find fields whose selectors stopped matching after a redesign, and print new rules.",
)
add_command_at(
    pipelines,
    "agentic.executors.commands.wrappers:show_wrappers",
    name="wrappers",
    help="Show how the fields of a pipeline look, learnt by its crawls, or write it to a file.",
)
add_command_at(
    pipelines,
    "agentic.executors.commands.trying:try_page",
    name="try",
    help="Fetch a page and test selectors on it, as a crawl or a step does.",
)


def read_pipeline(target: str, project: str | None) -> PipelineSpec:
    """Return the pipeline of a file, or a stored one, with all references resolved.

    Raises:
        SpecError: It cannot be used.
        UnknownPipelineError: No stored pipeline has that name.
    """
    from agentic.core.pipeline import FILE_ENDINGS, load_spec

    settings = load_settings()
    if target.endswith(FILE_ENDINGS):
        actors = get_registry().actors
        return load_spec(
            Path(target), actors, find=lambda name: _kept(settings, project, name), runs_code=True
        )
    return _kept(settings, project, target)


def _kept(settings: Settings, project: str | None, name: str) -> PipelineSpec:
    from agentic.core.pipeline import read_spec
    from agentic.mappers import find_project
    from agentic.mappers.catalog.pipelines import find_stored

    with opened(current_database(settings)) as database, database.reading() as session:
        owner = find_project(session, project or settings.project)
        kept = find_stored(session, owner.id, name)
    return read_spec(kept.spec, get_registry().actors)


def _fault(fault: Fault) -> dict[str, JSONValue]:
    from agentic.core.pipeline.errors import shown_place

    return {
        "message": fault.message,
        "place": shown_place(fault.place),
        "line": fault.line,
        "column": fault.column,
    }


def _default_rules(mark: str) -> str:
    """Return the default rules of a spec, each line as a comment."""
    import yaml

    from agentic.core.pipeline import DEFAULT_RULES

    rules = {key: rule.model_dump(exclude_unset=True) for key, rule in DEFAULT_RULES.items()}
    lines = ["default rules of error_handling:", *yaml.safe_dump(rules, width=100).splitlines()]
    return "".join(f"{mark}{line}\n" for line in lines)


def _actor_row(schema: Mapping[str, JSONValue]) -> dict[str, object]:
    does = str(schema["description"]).partition("\n")[0].replace("``", "")
    return {**schema, "does": does}
