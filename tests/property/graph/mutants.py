"""Faults of the planner, one at a time: each has to be found by the simulator.

python -m tests.property.graph.mutants          # all of them, with the runs it took
"""

from __future__ import annotations

import inspect
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from types import CodeType, FunctionType, ModuleType

from tests.property.graph import exposing
from tests.property.graph.shapes import Shape
from tests.property.graph.simulator import simulate

from agentic.core.graph.planning import (
    conditions,
    joins,
    maps,
    planner,
    refusals,
    routed,
    routing,
    shared_state,
)


@dataclass(frozen=True)
class Mutant:
    """A fault: ``old`` is written as ``new`` in a module's source, where it is once.

    Attributes:
        module: That has the fault.
        old: What it says.
        new: What it says with the fault.
        shape: The workflow that exposes it, if random ones seldom or never do.
        seed: The first random run to look at: it finds the fault, or did so when it was written down.
    """

    module: ModuleType
    old: str
    new: str
    shape: Shape | None = None
    seed: int = 0


MUTANTS: Mapping[str, Mutant] = {
    "executors run in the order their messages came in": Mutant(
        planner, "sorted(deliveries, key=lambda d: rank[d.target])", "deliveries"
    ),
    "what finished before a superstep was broken off is forgotten": Mutant(
        planner, "        **state.kept,\n", ""
    ),
    "what finished in a superstep that is broken off runs again": Mutant(
        planner, "self.draft.kept = finished", "self.draft.kept = {}"
    ),
    "a superstep that failed is merged nevertheless": Mutant(
        planner,
        "        self.draft = Draft(self.state)\n        self.draft.outputs",
        "        self.draft.outputs",
        seed=21,
    ),
    "what was answered stays parked": Mutant(planner, 'draft.drop("parked", origin)', "pass"),
    "a run takes a superstep too many": Mutant(
        planner,
        "draft.superstep >= self.config.max_supersteps",
        "draft.superstep > self.config.max_supersteps",
    ),
    "a join does not wait for its last source": Mutant(
        joins, "if len(buffer) == len(edge.sources) and", "if len(buffer) >= len(edge.sources) - 1 and"
    ),
    "a join keeps what it has delivered": Mutant(joins, 'context.draft.drop("fan_ins", edge_index)', "pass"),
    "a join does not wait for what is parked": Mutant(
        joins, "index, edge, live | waiting | others", "index, edge, live | others"
    ),
    "a message that was replaced vanishes silently": Mutant(joins, "context.superseded +=", "_ =", seed=13),
    "a message that nobody takes vanishes silently": Mutant(routing, "context.lost.append(lost)", "pass"),
    "a condition that was not asked lets a message pass": Mutant(
        routing,
        "    elif decision:\n        context.deliver",
        "    elif not decision:\n        context.deliver",
    ),
    "a condition is asked about messages that its target does not take": Mutant(
        conditions,
        "if not fits and _is_for_another(graph, source, sent, is_failure=is_failure):",
        "if False:",
        exposing.CONDITION_OF_A_PICKY_TARGET,
    ),
    "a case is chosen for a target that does not take the message": Mutant(
        conditions,
        "graph.executors[case.target].accepts(message) and ",
        "",
        exposing.CASE_OF_A_PICKY_TARGET,
    ),
    "what a barrier refused is kept": Mutant(
        planner,
        "not in self.refused\n            and not",
        "not in ()\n            and not",
        exposing.CLASHING_ITEMS,
    ),
    "an output of an earlier leg is yielded again": Mutant(
        planner, "result.outputs[yielded:] if yielded else result.outputs", "result.outputs", seed=48
    ),
    "what once kept is forgotten with what a barrier refused": Mutant(
        refusals,
        "before,\n            origin",
        "before,\n            once={},\n            origin",
        exposing.CLASHING_ONCES,
    ),
    "messages behind a refused one are kept": Mutant(
        refusals,
        "if key in refused or (key[0]",
        "if key in refused or (False and key[0]",
        exposing.STRAYS_ONE_AFTER_THE_OTHER,
    ),
    "an input is delivered once too often": Mutant(
        routing, "< edge.max_passes", "<= edge.max_passes", seed=11
    ),
    "receivers share one object": Mutant(
        routed,
        "message.payload if message.copies == 1 else message.payload.for_next_receiver()",
        "message.payload",
    ),
    "more items of a map are under way than its window has": Mutant(
        maps, "edge.window - live", "edge.window", seed=29
    ),
    "what was written first is reduced last": Mutant(
        shared_state,
        "    for result in results:\n        if result.writes",
        "    for result in reversed(results):\n        if result.writes",
    ),
}


def runs_until_caught(name: str, limit: int = 100) -> int | None:
    """Return how many runs it took to find a mutant, None if ``limit`` of them were as they should be."""
    shape, first = MUTANTS[name].shape, MUTANTS[name].seed
    for seed in range(first, first + (limit if shape is None else 1)):
        with mutated(MUTANTS[name]):
            try:
                _play(shape, seed)
            except Exception:  # whatever it breaks
                is_caught = True
            else:
                is_caught = False
        if is_caught:
            _play(shape, seed)  # without the fault it is as it should be
            return seed - first + 1
    return None


def _play(shape: Shape | None, seed: int) -> None:
    if shape is None:
        simulate(seed)
    else:
        exposing.expose(shape, seed)


@contextmanager
def mutated(mutant: Mutant) -> Iterator[None]:
    """Put a mutant's code in the place of the functions that it changes, wherever they were imported."""
    source = inspect.getsource(mutant.module)
    assert source.count(mutant.old) == 1, f"{mutant.old!r} is no longer what the code says"
    faulty = {**vars(mutant.module)}
    exec(compile(source.replace(mutant.old, mutant.new), str(mutant.module.__file__), "exec"), faulty)
    codes = dict(_codes(faulty, mutant.module.__name__))
    before: list[tuple[FunctionType, CodeType]] = []
    for name, function in _functions(vars(mutant.module), mutant.module.__name__):
        before.append((function, function.__code__))
        function.__code__ = codes[name]
    try:
        yield
    finally:
        for function, code in before:
            function.__code__ = code


def _codes(space: Mapping[str, object], module: str) -> Iterator[tuple[str, CodeType]]:
    return ((name, function.__code__) for name, function in _functions(space, module))


def _functions(space: Mapping[str, object], module: str) -> Iterator[tuple[str, FunctionType]]:
    """Yield the functions and methods that a module defines, by their qualified names."""
    for found in space.values():
        if isinstance(found, FunctionType) and found.__module__ == module:
            yield found.__qualname__, found
        elif isinstance(found, type) and found.__module__ == module:
            yield from _functions(vars(found), module)


def main() -> None:
    """Tell of each mutant when it is found."""
    for name in MUTANTS:
        began = time.perf_counter()
        runs = runs_until_caught(name)
        found = "NOT FOUND" if runs is None else f"run {runs}"
        sys.stdout.write(f"{name}: {found}, {time.perf_counter() - began:.1f} s\n")


if __name__ == "__main__":
    main()
