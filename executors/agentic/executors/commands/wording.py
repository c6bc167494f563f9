"""``agentic pipelines build --words``: a model names the data and picks among numbered places."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, cast

from agentic.core.cli import print_line, print_sample
from agentic.core.types import JSONValue
from agentic.executors.commands.shared.options import OptionError
from agentic.executors.commands.shared.page_trees import open_pages, tree_of

if TYPE_CHECKING:
    from agentic.core.actors import ItemOutput, ItemsOutput, Page
    from agentic.core.llm import LLMAdapter
    from agentic.core.pipeline import IntentSpec
    from agentic.core.pipeline.words import InferredIntent
    from agentic.core.wrappers import PageTree
    from agentic.executors.commands.shared.page_trees import FetchedPages

ENOUGH = 3
"""Pages that a pipeline should be tried on."""


@dataclass(frozen=True, slots=True)
class WordsOptions:
    """The options of a build with words.

    Attributes:
        words: The data that a person wants.
        model: ``provider:model``.
        record: File for the replies of the model, to be replayed later.
        name: Of the pipeline.
        private_hosts: Private hosts that may be asked.
    """

    words: str
    model: str
    record: Path | None
    name: str
    private_hosts: tuple[str, ...]


def options_of(
    words: str | None, model: str | None, record: Path | None, name: str, private_hosts: Sequence[str]
) -> WordsOptions:
    """Return the options of a build with words.

    Raises:
        OptionError: One is missing, or cannot be used.
    """
    if not (words and words.strip()):
        raise OptionError("--model and --record need --words, such as --words 'all laptops with price'")
    if model is None:
        raise OptionError("--words needs a model to ask: add --model, such as --model ollama:llama3.2")
    if record is not None and record.suffix != ".jsonl":
        raise OptionError(f"--record: {record} must end in .jsonl")
    _check_name(name)
    return WordsOptions(words.strip(), model, record, name, tuple(private_hosts))


def infer_from_words(asking: WordsOptions, urls: Sequence[str]) -> InferredIntent:
    """Return the intent behind words about a page, by a model.

    Args:
        asking: The options.
        urls: The page, then others of its kind.

    Raises:
        OptionError: A host is private, or the recording is of another model.
        WordsError, ModelError: See :func:`~agentic.core.pipeline.words.infer_intent`.
    """
    return asyncio.run(_infer(asking, urls))


def print_inferred(found: InferredIntent, asking: WordsOptions) -> None:
    """Print the fields of an intent that was made of words, and the conditions that it cannot check."""
    rows: list[dict[str, object]] = [
        {
            "field": name,
            "type": one.type,
            "places": len(one.locators),
            "found": f"{found.values[name]} of {sum(found.checked.values())}",
            "first": next((texts[0] for texts in one.texts if texts), ""),
            "selector": one.locators[0].path,
        }
        for name, one in found.fields.items()
    ]
    print_sample("Fields", ["field", "type", "places", "found", "first", "selector"], rows)
    for sentence in _summary(found, asking.model):
        print_line(sentence)


def _check_name(name: str) -> None:
    """Check the name of a pipeline before a model is asked."""
    from pydantic import ValidationError

    from agentic.core.pipeline import IntentSpec

    try:
        IntentSpec(kind="page", name=name, url="")
    except ValidationError as exc:
        fault = exc.errors()[0]["msg"]
        raise OptionError(f"--name {name!r} is not a name for a pipeline: {fault}") from None


async def _infer(asking: WordsOptions, urls: Sequence[str]) -> InferredIntent:
    from agentic.core.llm import llm
    from agentic.core.pipeline.words import infer_intent

    hosts = asking.private_hosts
    async with (
        _recorded(llm(_own_name(asking.model)), asking.record) as model,
        open_pages(hosts) as pages,
    ):
        site = _Site(pages)
        return await infer_intent(
            model, asking.words, urls, site, name=asking.name, allow_private_hosts=hosts
        )


def _own_name(model: str) -> str:
    """Return the name of a model; a script or recording that the user names may be read."""
    from agentic.core.actors.own_code import own_file
    from agentic.core.agents.specs.spec import FILE_PROVIDERS

    provider, _, file = model.partition(":")
    if provider not in FILE_PROVIDERS or not file:
        return model
    return f"{provider}:{own_file(file, Path.cwd(), is_trusted=True)}"


def _recorded(model: LLMAdapter, record: Path | None) -> LLMAdapter:
    from agentic.core.llm import ReplayModel

    if record is None:
        return model
    try:
        record.touch()
        return ReplayModel(record, model, mode="record")
    except OSError as exc:
        raise OptionError(f"--record: {record} cannot be written ({exc.strerror})") from None
    except ValueError as exc:
        raise OptionError(f"--record: {exc}") from None


class _Site:
    """Implements :class:`~agentic.core.pipeline.words.WordsSite`: each page is fetched once."""

    def __init__(self, pages: FetchedPages) -> None:
        self._source = pages
        self._pages: dict[str, Page] = {}

    async def fetch(self, urls: Sequence[str]) -> Sequence[PageTree]:
        for url in urls:
            if url not in self._pages:
                self._pages[url] = await self._source.fetched(url)
        return [tree_of(self._pages[url]) for url in urls]

    async def read(self, intent: IntentSpec, url: str) -> Sequence[Mapping[str, JSONValue]]:
        page = self._pages[url]
        if intent.kind != "rows":
            found = await self._source.call("extract_detail", {"page": page, "schema": intent.fields})
            return [cast("ItemOutput", found).item]
        given = {"page": page, "item_selector": intent.items, "fields": intent.fields}
        return cast("ItemsOutput", await self._source.call("extract_list", given)).items or ()


def _summary(found: InferredIntent, model: str) -> Iterator[str]:
    if found.intent.kind == "page":
        yield f"record: {found.record}, the page itself"
    else:
        yield (
            f"record: {found.record}, {found.count} on the page; all are taken, and nothing checks that each "
            f"is a {found.record}"
        )
    pages = len(found.checked)
    more = "; add --page URL for more" if pages < ENOUGH else ""
    yield f"tried on {pages} {'page' if pages == 1 else 'pages'}{more}"
    for one in found.intent.filters:
        yield f"filter: {one.field} {one.op} {one.value} {one.currency or ''}".rstrip()
    for other in found.not_applied:
        yield f"not applied: {other.words} ({other.reason})"
    times = "time" if found.calls == 1 else "times"
    cost = f", ${found.cost_usd:.4f}" if found.cost_usd else ""
    yield f"{model} was asked {found.calls} {times}, {found.tokens:,} tokens{cost}; a run asks no model"
