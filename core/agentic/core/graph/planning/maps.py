"""Map edges: a list is processed item by item, a window at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from typing import cast

from agentic.core.graph.codec.codec import describe, describe_fields
from agentic.core.graph.codec.payload import Payload, is_immutable, list_payload
from agentic.core.graph.definition.edges import MapEdge
from agentic.core.graph.errors import error_text, error_type
from agentic.core.graph.model.messages import ActivationResult, Delivery, ExecutorFailure, ItemResult, MapItem
from agentic.core.graph.model.state import Draft, ItemOutcome, MapProgress
from agentic.core.graph.planning.routed import RoutedMessage, RoutingContext
from agentic.core.types import ExecutorId, JSONValue

_NO_EDGES: frozenset[int] = frozenset()
NOTHING = Payload(None, is_immutable=True, is_exact=True)


def fold_items(draft: Draft, results: Sequence[ActivationResult]) -> AbstractSet[int]:
    """Put finished items into their lists; return the map edges concerned."""
    if not draft.maps:
        return _NO_EDGES
    finished: dict[int, list[ItemOutcome]] = {}
    for result in results:
        item = result.activation.delivery.item
        if item is not None and not result.parked:
            finished.setdefault(item.map_id, []).append(_outcome(result, item.index))
    for map_id, outcomes in finished.items():
        progress = draft.maps[map_id]
        done = (*progress.done, tuple(outcomes))
        count = progress.done_count + len(outcomes)
        draft.put("maps", map_id, replace(progress, done=done, done_count=count))
    return {draft.maps[map_id].edge_index for map_id in finished}


def _outcome(result: ActivationResult, index: int) -> ItemOutcome:
    if result.error is not None:
        return ItemOutcome(
            index,
            None,
            error_type(result.error),
            error_text(result.error),
            result.activation.delivery.target,
            len(result.progress.failures) or 1,
        )
    values = [sent.payload for sent in result.sends]
    return ItemOutcome(index, list_payload(values) if len(values) > 1 else next(iter(values), None))


def take_over(
    context: RoutingContext, edge_index: int, edge: MapEdge, messages: Sequence[RoutedMessage]
) -> None:
    """Start the lists among ``messages``, and continue the edge's lists in progress."""
    draft = context.draft
    for message in messages:
        value = message.payload.value
        if not (message.aims_at(edge.body) or message.aims_at(edge.join)):
            continue
        if not isinstance(value, (list, tuple)):
            message.refuse(f"the map edge to {edge.body!r} needs a list, not {type(value).__name__}")
            continue
        progress = MapProgress(edge_index, context.copy_for_receiver(message), len(value), message.trail)
        draft.put("maps", draft.next_map_id, progress)
        draft.next_map_id += 1
    for map_id, progress in list(draft.maps.items()):
        if progress.edge_index == edge_index:
            _work_off(context, map_id, progress, edge)


def _work_off(context: RoutingContext, map_id: int, progress: MapProgress, edge: MapEdge) -> None:
    """Hand out items up to the window, or give the join the results of all items."""
    if progress.done_count == progress.count:
        context.draft.drop("maps", map_id)
        results = list_payload(list(_item_results(progress, edge)))
        delivery = Delivery(edge.join, (edge.body,), results, trail=progress.trail)
        context.deliver_list(delivery, (edge.body, edge.source))
        return
    live = progress.next_index - progress.done_count
    upto = min(progress.next_index + edge.window - live, progress.count)
    if upto > progress.next_index:
        for index in range(progress.next_index, upto):
            item = item_payload(progress.items, index)
            context.deliveries.append(
                Delivery(
                    edge.body,
                    (edge.source,),
                    item.for_next_receiver(),
                    MapItem(map_id, index),
                    progress.trail,
                )
            )
        context.draft.put("maps", map_id, replace(progress, next_index=upto))


def item_payload(items: Payload, index: int) -> Payload:
    """Return one item of a list."""
    value = cast(Sequence[object], items.value)[index]
    return Payload(
        value,
        make_data=lambda _: _elements(items.data)[index],
        is_immutable=items.is_immutable or is_immutable(value),
        is_exact=items.is_exact,
    )


def _elements(data: JSONValue) -> list[JSONValue]:
    """Return the elements of an encoded list or tuple."""
    return data if isinstance(data, list) else cast(list[JSONValue], cast(dict[str, JSONValue], data)["v"])


def _item_results(progress: MapProgress, edge: MapEdge) -> Iterator[Payload]:
    """Yield the results in item order."""
    outcomes = sorted((outcome for chunk in progress.done for outcome in chunk), key=lambda o: o.index)
    for outcome in outcomes:
        if not (outcome.error_type and edge.on_item_error == "skip"):
            yield _item_result(progress.items, outcome)


def _item_result(items: Payload, outcome: ItemOutcome) -> Payload:
    index = outcome.index
    item = item_payload(items, index)
    value = outcome.value or NOTHING
    error = (
        ExecutorFailure(
            executor_id=ExecutorId(outcome.failed_executor),
            error_type=outcome.error_type,
            message=outcome.error,
            attempt_count=outcome.attempt_count,
        )
        if outcome.error_type
        else None
    )

    def make_data(_: object) -> JSONValue:
        facts = {"index": index, "item": item.data, "value": value.data, "error": describe(error)}
        return describe_fields(ItemResult, facts)

    return Payload(
        ItemResult(index=index, item=item.value, value=value.value, error=error),
        make_data=make_data,
        is_exact=item.is_exact and value.is_exact,
    )
