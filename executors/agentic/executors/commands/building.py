"""``agentic pipelines build``: makes a pipeline from an intent, or from example values of a page."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agentic.core.cli import print_json, print_line, print_sample
from agentic.core.hooks import get_registry
from agentic.executors.commands.shared.options import AsJson, OptionError, write_file
from agentic.executors.commands.shared.page_trees import fetch_pages, tree_of
from agentic.executors.commands.shared.yaml_text import yaml_text
from agentic.executors.commands.wording import infer_from_words, options_of, print_inferred

if TYPE_CHECKING:
    from agentic.core.pipeline import IntentSpec, PipelineSpec
    from agentic.core.wrappers import BuiltField, PageTree, Wrapper

MAX_PAGES = 5
_SCHEMES = ("http://", "https://")


def build(  # noqa: PLR0913 - one option each
    target: Annotated[
        str, typer.Argument(metavar="FILE|URL", help="File with an intent, or a page with the data.")
    ],
    *,
    example: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUE", help="A field, and its value on the page; a list if repeated. Repeatable."
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
    name: Annotated[str, typer.Option(help="Name of the pipeline.")] = "pipeline",
    out: Annotated[Path | None, typer.Option(help="Write the pipeline to this YAML file.")] = None,
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
    """Build a pipeline from an intent, or from example values of a page or words, and print it.

    Without --words no model is asked: each example is looked for on the page, and its selectors are checked
    on all pages.
    """
    if not target.startswith(_SCHEMES):
        if example or page or wrappers or words:
            raise OptionError(
                f"--example, --words, --page and --wrappers need the URL of a page, not {target!r}"
            )
        spec = _built(_read_intent(Path(target)), builder)
        _print_spec(spec, out, as_json=as_json, fields={})
        return
    urls = [target, *(page or ())]
    if len(urls) > MAX_PAGES:
        raise OptionError(f"--page is given {len(urls) - 1} times; {MAX_PAGES - 1} further pages are enough")
    if words is not None or model is not None or record is not None:
        if example or wrappers:
            raise OptionError("--words, --model and --record do not go with --example or --wrappers")
        asking = options_of(words, model, record, name, allow_private_host or ())
        inferred = infer_from_words(asking, urls)
        if out is not None and not as_json:
            print_inferred(inferred, asking)
        _print_spec(_built(inferred.intent, builder), out, as_json=as_json, fields={})
        return
    examples = _examples(example or ())
    trees = [tree_of(one) for one in asyncio.run(fetch_pages(urls, allow_private_host or ()))]
    fields = _found(trees, examples)
    spec = _built(_intent(target, name, fields, allow_private_host or ()), builder)
    if wrappers is not None:
        _write_wrappers(wrappers, trees, fields)
    _print_spec(spec, out, as_json=as_json, fields=fields)


def _examples(given: Sequence[str]) -> dict[str, str | list[str]]:
    if not given:
        raise OptionError("a URL needs examples: add --example NAME=VALUE, such as --example title='A Light'")
    values: dict[str, list[str]] = {}
    for one in given:
        name, mark, value = one.partition("=")
        if not (mark and name.strip() and value.strip()):
            raise OptionError(f"--example takes NAME=VALUE, such as price=12.50; {one!r} is not")
        values.setdefault(name.strip(), []).append(value.strip())
    return {name: found[0] if len(found) == 1 else found for name, found in values.items()}


def _found(trees: Sequence[PageTree], examples: Mapping[str, str | list[str]]) -> dict[str, BuiltField]:
    from agentic.core.wrappers import find_examples

    found = find_examples(trees, examples)
    fields = {name: field for name, field in found.items() if field is not None}
    if missing := [name for name in found if name not in fields]:
        name = missing[0]
        others = " and that a selector also finds on the other pages" if trees[1:] else ""
        raise OptionError(
            f"--example {name}: no element of {trees[0].url} has the text {examples[name]!r}{others}; copy "
            "the value from the page as it is without scripts"
        )
    return fields


def _intent(url: str, name: str, fields: Mapping[str, BuiltField], hosts: Sequence[str]) -> IntentSpec:
    from pydantic import ValidationError

    from agentic.core.pipeline import IntentSpec
    from agentic.core.wrappers import rule_of

    rules = {one.name: rule_of(one.locators, is_list=one.is_list) for one in fields.values()}
    try:
        return IntentSpec(
            kind="page", name=name, url=url, fields=rules, browser="never", allow_private_hosts=tuple(hosts)
        )
    except ValidationError as exc:
        raise OptionError(f"--name {name!r} is not a name for a pipeline: {exc.errors()[0]['msg']}") from None


def _built(intent: IntentSpec, builder: str) -> PipelineSpec:
    from agentic.core.pipeline.expressions.suggestions import unknown_word

    registry = get_registry()
    if not registry.builders.is_taken(builder):
        raise OptionError(f"--builder: {unknown_word('builder', builder, registry.builders)}")
    return asyncio.run(registry.builders[builder](registry.actors).build(intent))


def _print_spec(
    spec: PipelineSpec, out: Path | None, *, as_json: bool, fields: Mapping[str, BuiltField]
) -> None:
    from agentic.mappers.catalog.pipelines import as_written

    if out is not None:
        write_file(out, yaml_text(as_written(spec)).encode(), "--out")
    if as_json:
        print_json(as_written(spec))
    elif out is None:
        sys.stdout.write(yaml_text(as_written(spec)))
    else:
        rows = [_row(field) for field in fields.values()]
        if rows:
            print_sample("Fields", ["field", "places", "first page", "last page", "selector"], rows)
        print_line(f"wrote {out}; run it with: agentic run {out}")


def _row(field: BuiltField) -> dict[str, object]:
    def shown(texts: Sequence[str]) -> str:
        return f"{texts[0]} (and {len(texts) - 1} more)" if texts[1:] else "".join(texts)

    return {
        "field": field.name,
        "places": len(field.locators),
        "selector": field.locators[0].path,
        "first page": shown(field.texts[0]),
        "last page": shown(field.texts[-1]) if field.texts[1:] else "",
    }


def _write_wrappers(path: Path, trees: Sequence[PageTree], fields: Mapping[str, BuiltField]) -> None:
    from agentic.core.wrappers import Observation, Wrapper, encode, learn

    known = {name: Wrapper(name, is_list=one.is_list, locators=one.locators) for name, one in fields.items()}
    for tree in trees:
        found = {name: _hits(wrapper, tree) for name, wrapper in known.items()}
        known = learn(
            known, Observation(tree, tree.url, {name: hits for name, hits in found.items() if hits})
        )
    write_file(path, b"".join(encode(wrapper) + b"\n" for wrapper in known.values()), "--wrappers")


def _hits(wrapper: Wrapper, tree: PageTree) -> list[int]:
    return next((hits for locator in wrapper.locators if (hits := locator.find(tree))), [])


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
