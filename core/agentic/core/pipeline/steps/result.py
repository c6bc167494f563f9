"""The result of a pipeline."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from typing import Literal, cast

from pydantic import BaseModel, ConfigDict, Field

from agentic.core.actors import ModelUse
from agentic.core.http.errors import PROXY_SUBJECT
from agentic.core.http.exits.uses import in_list_order
from agentic.core.pipeline.policies.policies import StepAttempt
from agentic.core.pipeline.policies.records import attempt_records
from agentic.core.pipeline.spec.spec import PipelineSpec
from agentic.core.pipeline.steps.state import CrawlTotals, PipelineState, RecoveredStep, StepFailure, StepNote
from agentic.core.types import EXCLUDED_CLASSES, JSONValue

EXAMPLE_COUNT = 5


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class AttemptRecord(_Part):
    """One attempt: ``failure_class`` is None if it succeeded, ``action`` says what followed if it failed.

    Attributes:
        actor: The actor that was called.
        failure_class: Why it failed.
        message: For people.
        detail: A more precise word.
        action: What followed.
        wait_s: Seconds before the next try.
        next: The actor or the step that came next, if it was another one.
    """

    actor: str
    failure_class: str | None = None
    message: str = ""
    detail: str = ""
    action: str = ""
    wait_s: float = 0.0
    next: str | None = None


class FailedItem(_Part):
    """A step, or a loop's item, that failed, with every attempt."""

    step: str
    item: JSONValue = None
    failure_class: str
    message: str
    attempts: tuple[AttemptRecord, ...]
    is_letter: bool = False


class RetriedStep(_Part):
    """A step, or an item of a loop, that succeeded after failures."""

    step: str
    item: JSONValue = None
    attempts: tuple[AttemptRecord, ...]


class FailureTotals(_Part):
    """How often one failure class occurred, and the first few messages."""

    count: int
    examples: tuple[str, ...]


class PageTotals(_Part):
    """Pages of a crawl by their result, and the effect of storing them on the tables, in rows.

    Attributes:
        done: Fetched.
        failed: Failed.
        left: Known, and not fetched because of the limits.
        excluded: Left out because the site excludes them: by robots.txt.
        items: Items with a value that were read on them.
        beyond: Not fetched because they are deeper than ``max_depth``.
        outside: Links that were not followed because they lead to other hosts or no rule includes them.
        borders: A sentence for each limit that kept pages out, and for each other site it moved to.
        reread: Read again from storage, with success or not.
        unstored: Fetched earlier, and not read again because they are not stored.
        held: Not fetched because pages of their kind differ from healthy ones.
        drift: A sentence about each such kind.
        inserted: Rows.
        updated: Rows.
        unchanged: Rows.
        rejected: Rows.
    """

    done: int
    failed: int
    left: int
    excluded: int = 0
    items: int = 0
    beyond: int = 0
    outside: int = 0
    borders: tuple[str, ...] = ()
    reread: int = 0
    unstored: int = 0
    held: int = 0
    drift: tuple[str, ...] = ()
    inserted: int
    updated: int
    unchanged: int
    rejected: int


class ModelTotals(_Part):
    """The use of language models.

    Attributes:
        requests: Answered requests.
        cached: Replies kept from equal requests, of this run or an earlier one; they cost nothing.
        cached_share: The share of replies that were kept, from 0 to 1.
        input_tokens: Tokens in.
        output_tokens: Tokens out.
        cost_usd: US dollars; None if a price is not known.
    """

    requests: int
    cached: int
    cached_share: float
    input_tokens: int
    output_tokens: int
    cost_usd: float | None


class ProxyTotals(_Part):
    """The requests through one of several proxies.

    Attributes:
        proxy: Its place in the list, from 1; 0 for all beyond the first 100 together.
        id: Reveals nothing about the proxy.
        requests: Requests sent through it.
        failures: Failure class -> number of failed requests.
        received_bytes: Size of all bodies, unpacked.
    """

    proxy: int
    id: str
    requests: int
    failures: dict[str, int]
    received_bytes: int


class PipelineResult(_Part):
    """The result of a pipeline.

    Attributes:
        schema_version: Of this shape.
        pipeline: Name of the pipeline.
        item_key: Field that identifies an item.
        items: The newest result called ``items``, of ``aggregate`` or of a loop; without one, the ``item``.
        counts: Items, failed items, items left out by loops' limits, fetched and failed pages.
        pages: Of the crawl step, if there is one; its pages and items are in the tables already.
        failures: Failure class -> totals, over items and pages.
        failed_items: Every failed step and item, with the reason.
        retried: Steps that needed more than one attempt.
        skipped: Steps left out because a result they need was never made.
        passed_over: Steps whose ``when`` was not true.
        warnings: Things that successful steps did not find.
        proxies: Warnings about proxies; they say nothing about the results.
        proxy_uses: Requests through each of several proxies; left out of JSON without them.
        gives_nothing: Whether no step returned anything to store, or had another effect that counts.
        models: The use of language models; None if no model was asked.
    """

    schema_version: Literal[1] = 1
    pipeline: str
    item_key: str
    items: tuple[dict[str, JSONValue], ...]
    counts: dict[str, int]
    pages: PageTotals | None = None
    failures: dict[str, FailureTotals]
    failed_items: tuple[FailedItem, ...]
    retried: tuple[RetriedStep, ...]
    skipped: tuple[str, ...]
    passed_over: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    proxies: tuple[str, ...] = ()
    proxy_uses: tuple[ProxyTotals, ...] = Field(default=(), exclude_if=lambda uses: not uses)
    gives_nothing: bool = False
    models: ModelTotals | None = None


def result_of(spec: PipelineSpec, state: PipelineState, *, may_be_empty: bool = True) -> PipelineResult:
    """Return the result of a pipeline whose last step is done.

    Args:
        spec: The pipeline.
        state: After its last step.
        may_be_empty: Whether a run may intentionally return nothing to store.
    """
    items = _items(state)
    crawl = state.crawl or CrawlTotals()
    return PipelineResult(
        pipeline=spec.name,
        item_key=spec.item_key,
        items=items,
        counts={
            "items": len(items),
            "failed_items": len(state.failures),
            "left_out": state.left_out,
            "pages_done": crawl.done,
            "pages_failed": crawl.failed,
        },
        pages=_pages(state.crawl),
        failures=_failures(state),
        failed_items=tuple(map(_failed_item, state.failures)),
        retried=tuple(map(_retried, state.retried)),
        skipped=state.skipped,
        passed_over=state.passed_over,
        warnings=tuple(note.text for note in state.notes if not _is_about_proxies(note)),
        proxies=tuple(note.text for note in state.notes if _is_about_proxies(note)),
        proxy_uses=tuple(ProxyTotals.model_validate(use.to_dict()) for use in in_list_order(state.proxies)),
        gives_nothing=not (may_be_empty or state.crawl or state.has("items") or state.has("item")),
        models=_models(state.models),
    )


def _is_about_proxies(note: StepNote) -> bool:
    return note.subject.startswith(PROXY_SUBJECT)


def _items(state: PipelineState) -> tuple[dict[str, JSONValue], ...]:
    """Return the items; a loop over plain values makes mappings of them."""
    if not state.has("items"):
        return (_as_item(state.value("item")),) if state.has("item") else ()
    found = state.value("items")
    values = found if isinstance(found, list) else [found]
    return tuple(map(_as_item, values))


def _as_item(value: JSONValue) -> dict[str, JSONValue]:
    return value if isinstance(value, dict) else {"value": value}


def _pages(crawl: CrawlTotals | None) -> PageTotals | None:
    if crawl is None:
        return None
    return PageTotals(**{name: getattr(crawl, name) for name in PageTotals.model_fields})


def _models(use: ModelUse | None) -> ModelTotals | None:
    if use is None:
        return None
    return ModelTotals(
        requests=use.requests,
        cached=use.cached,
        cached_share=round(use.cached_share, 4),
        input_tokens=use.input_tokens,
        output_tokens=use.output_tokens,
        cost_usd=use.cost_usd,
    )


def _failures(state: PipelineState) -> dict[str, FailureTotals]:
    said = [(f.failure_class, f.message) for f in map(_failed_item, state.failures)]
    counts = Counter(failure_class for failure_class, _ in said)
    examples = {name: [message for word, message in said if word == name] for name in counts}
    for tally in state.crawl.tallies if state.crawl else ():
        if tally.failure_class in EXCLUDED_CLASSES:
            continue
        counts[tally.failure_class] += tally.count
        examples.setdefault(tally.failure_class, []).extend(tally.examples)
    return {
        name: FailureTotals(count=count, examples=tuple(examples[name][:EXAMPLE_COUNT]))
        for name, count in sorted(counts.items())
    }


def _failed_item(failed: StepFailure) -> FailedItem:
    return FailedItem(
        step=failed.step,
        item=_item(failed.item),
        failure_class=failed.failure.failure_class,
        message=failed.failure.message,
        attempts=_records(failed.attempts),
        is_letter=failed.is_letter,
    )


def _retried(retried: RecoveredStep) -> RetriedStep:
    return RetriedStep(step=retried.step, item=_item(retried.item), attempts=_records(retried.attempts))


def _item(text: str | None) -> JSONValue:
    return None if text is None else cast(JSONValue, json.loads(text))


def _records(attempts: Iterable[StepAttempt]) -> tuple[AttemptRecord, ...]:
    return tuple(map(AttemptRecord.model_validate, attempt_records(attempts)))
