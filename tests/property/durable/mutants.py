"""Faults of durable runs, one at a time: each has to be found by the simulator.

python -m tests.property.durable.mutants          # all of them, with the runs it took
"""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping

from tests.property.durable.simulator import simulate
from tests.property.graph.mutants import Mutant, mutated

from agentic.core.ledger import memory_activations, memory_runs, memory_steps
from agentic.executors.durable import (
    children,
    deciding,
    host,
    image,
    images,
    leases,
    preparing,
    reconciler,
    starting,
    worker,
)

MUTANTS: Mapping[str, Mutant] = {
    "who lost a claim settles that of another one": Mutant(
        memory_activations,
        "row.status is ActivationStatus.RUNNING and row.fence == lease.fence",
        "row.status is ActivationStatus.RUNNING",
    ),
    "a claim made anew has the fence of an old one": Mutant(
        memory_steps, "before.fence + 1 if before else 0", "0"
    ),
    "what is claimed can be claimed": Mutant(
        memory_activations,
        "is_pending = row.status is ActivationStatus.PENDING and row.not_before <= now",
        "is_pending = row.not_before <= now and row.status in {ActivationStatus.PENDING, ActivationStatus.RUNNING}",
    ),
    "a run goes on by a decision that was overtaken": Mutant(
        memory_runs, "(run.superstep, run.revision) != (superstep, revision)", "False"
    ),
    "what is left of a superstep is not skipped": Mutant(
        memory_runs, "if not stays(run, step):", "if False:"
    ),
    "a paused run goes on": Mutant(
        memory_activations, "not run.is_paused and run.cancel_at is None", "run.cancel_at is None"
    ),
    "a run that is to be cancelled goes on": Mutant(
        memory_activations, "not run.is_paused and run.cancel_at is None", "not run.is_paused"
    ),
    "more run at a time than may": Mutant(
        memory_activations, 'count("running") >= limit', 'count("running") > limit'
    ),
    "a crash forgets what was tried": Mutant(
        memory_activations,
        "progress=row.progress if settled.progress is None else settled.progress",
        "progress=settled.progress",
    ),
    "effects are not kept": Mutant(memory_activations, "self._rows.effects.put(effect[:3], effect)", "pass"),
    "effects are kept and not read": Mutant(preparing, "if not effects:", "if effects:"),
    "nobody waits for child runs that rest": Mutant(
        memory_steps, "if run.status is not RunStatus.RUNNING:", "if run.status.is_final:"
    ),
    "a cancellation is never carried out": Mutant(
        deciding, "if run.cancel_reason is not None and not", "if not"
    ),
    "what is expired is not taken back": Mutant(reconciler, "await self._take_back(row, swept)", "pass"),
    "runs nobody decides about are not decided about": Mutant(
        reconciler, "for run in neglected:", "for run in ():"
    ),
    "lost messages are not sent again": Mutant(
        reconciler, "found = ledger.undispatched(older_than_s=self._redispatch_after_s)", "found = ()"
    ),
    "a broker that is away is an error": Mutant(
        host, "except Exception as exc:", "except ValueError as exc:"
    ),
    "events are told twice": Mutant(image, "events=batches(told)", "events=batches([*told, *told[-1:]])"),
    "a stale image is good enough": Mutant(
        images, "image is None or image.revision < revision", "image is None"
    ),
    "leases are not extended": Mutant(leases, "if not held:", "if held:"),
    "what joins a result is not done": Mutant(worker, "if result.on_commit:", "if False:"),
    "what joins a result is done without a claim": Mutant(
        worker,
        "        if not ledger.settle(job.claimed.lease, settled):\n            return False\n        if result.on_commit:\n            try:\n                ledger.apply(result.on_commit)",
        "        try:\n            ledger.apply(result.on_commit)\n        finally:\n            if not ledger.settle(job.claimed.lease, settled):\n                return False\n        if result.on_commit:\n            try:\n                pass",
    ),
    "failed tries are forgotten": Mutant(
        worker,
        "settled = Settled(status=ActivationStatus.PENDING, progress=text, delay_s=again.delay_s)",
        "settled = Settled(status=ActivationStatus.PENDING, delay_s=again.delay_s)",
    ),
    "a submission with a known key begins anew": Mutant(
        memory_runs, "if new.idempotency_key is not None:", "if False:"
    ),
    "what joins the beginning of a run is done again": Mutant(
        starting, "if is_known or accepted != run_id:", "if accepted != run_id:"
    ),
    "answers do not get to child runs": Mutant(
        children, "return bool(names & call.answers.keys())", "return False"
    ),
    "a run that is broken off forgets what waits for its next try": Mutant(
        deciding, "{**self.waiting, **self.tried}", "self.tried"
    ),
    "what was written earlier in a lane is not seen": Mutant(
        preparing,
        "if all(image.kept((executor_id, shard)) for shard in range(activation.shard)):",
        "if executor_id:",
    ),
}


def runs_until_caught(name: str, limit: int = 300) -> int | None:
    """Return how many runs it took to find a mutant, None if ``limit`` of them were as they should be."""
    for seed in range(limit):
        with mutated(MUTANTS[name]):
            try:
                simulate(seed)
            except Exception:  # whatever it breaks
                is_caught = True
            else:
                is_caught = False
        if is_caught:
            simulate(seed)  # without the fault it is as it should be
            return seed + 1
    return None


def main() -> None:
    """Tell of each mutant when it is found."""
    for name in MUTANTS:
        began = time.perf_counter()
        runs = runs_until_caught(name)
        found = "NOT FOUND" if runs is None else f"run {runs}"
        sys.stdout.write(f"{name}: {found}, {time.perf_counter() - began:.1f} s\n")


if __name__ == "__main__":
    main()
