"""``agentic pipelines build --words``: a model names the data and picks among numbered places."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from agentic.core.types import JSONValue
from agentic.executors.building.looks import Looks, open_looks
from agentic.executors.building.plans import Plan, PlanKind, alike
from agentic.executors.building.tables import Checked, check_plan, read_page
from agentic.executors.commands.shared.options import OptionError

if TYPE_CHECKING:
    from agentic.core.llm import LLMAdapter
    from agentic.core.pipeline import IntentSpec
    from agentic.core.pipeline.intent_inference import InferredIntent
    from agentic.core.wrappers import PageTree


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


async def plan_by_words(
    asking: WordsOptions, urls: Sequence[str]
) -> tuple[Plan, Mapping[str, Checked], list[PageTree]]:
    """Return a plan for the data behind words, its values on the pages, and the pages.

    Args:
        asking: The options.
        urls: The page, then others of its kind.

    Raises:
        OptionError: A host is private, or the recording is of another model.
        WordsError, ModelError: See :func:`~agentic.core.pipeline.intent_inference.infer_intent`.
    """
    from agentic.core.llm import llm
    from agentic.core.pipeline.intent_inference import infer_intent

    hosts = asking.private_hosts
    async with _recorded(llm(own_model(asking.model)), asking.record) as model, open_looks(hosts) as looks:
        found = await infer_intent(
            model, asking.words, urls, _Site(looks), name=asking.name, allow_private_hosts=hosts
        )
        plan = _plan(found, asking.model)
        return plan, await check_plan(plan, looks), [await looks.tree(url) for url in plan.urls]


def _plan(found: InferredIntent, model: str) -> Plan:
    kinds: dict[str, PlanKind] = {"rows": "rows", "list": "details"}
    locators = {name: one.locators for name, one in found.fields.items()}
    kind = kinds.get(found.intent.kind, "page")
    return Plan(kind, found.intent, locators, tuple(found.checked), {}, tuple(_notes(found, model)))


def _check_name(name: str) -> None:
    """Check the name of a pipeline before a model is asked."""
    from pydantic import ValidationError

    from agentic.core.pipeline import IntentSpec

    try:
        IntentSpec(kind="page", name=name, url="")
    except ValidationError as exc:
        fault = exc.errors()[0]["msg"]
        raise OptionError(f"--name {name!r} is not a name for a pipeline: {fault}") from None


def own_model(model: str) -> str:
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
    """Implements :class:`~agentic.core.pipeline.intent_inference.WordsSite`."""

    def __init__(self, looks: Looks) -> None:
        self._looks = looks

    async def fetch(self, url: str) -> PageTree:
        return await self._looks.tree(url)

    async def alike(self, url: str) -> Sequence[str]:
        return [tree.url for tree in await alike(url, self._looks)]

    async def read(self, intent: IntentSpec, url: str) -> Sequence[Mapping[str, JSONValue]]:
        return await read_page(intent, url, self._looks)


def _notes(found: InferredIntent, model: str) -> Iterator[str]:
    if found.intent.kind == "page":
        yield f"record: {found.record}, the page itself"
    else:
        yield (
            f"record: {found.record}, {found.count} on the page; all are taken, and nothing checks that each "
            f"is a {found.record}"
        )
    for one in found.intent.filters:
        yield f"filter: {one.field} {one.op} {one.value} {one.currency or ''}".rstrip()
    for other in found.not_applied:
        yield f"not applied: {other.words} ({other.reason})"
    times = "time" if found.calls == 1 else "times"
    cost = f", ${found.cost_usd:.4f}" if found.cost_usd else ""
    yield f"{model} was asked {found.calls} {times}, {found.tokens:,} tokens{cost}; a run asks no model"
