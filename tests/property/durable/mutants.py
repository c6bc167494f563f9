"""Faults of durable runs, one at a time: each has to be found by the simulator.

python -m tests.property.durable.mutants          # all of them, with the runs it took
"""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping

from tests.property.durable.simulator import simulate
from tests.property.graph.mutants import Mutant, mutated

from agentic.core.ledger import memory_activations, memory_runs, memory_states, memory_steps
from agentic.executors.durable.publish import outbox
from agentic.executors.durable.reconcile import deciding, reconciler
from agentic.executors.durable.runs import children, service
from agentic.executors.durable.worker import cached_run, host, leases, preparing, run_cache, worker

_CLAIMABLE = "is_pending = row.status is ActivationStatus.PENDING and row.not_before <= now"
_MAY_GO_ON = "not run.is_paused and run.cancel_at is None"
_SETTLES = "if not ledger.settle(job.claimed.lease, settled):\n            return False\n"

FAULTS: Mapping[str, Mutant] = {
    "who lost a claim settles that of another one": Mutant(
        memory_activations,
        "row.status is ActivationStatus.RUNNING and row.fence == lease.fence",
        "row.status is ActivationStatus.RUNNING",
        seed=2,
    ),
    "a claim made anew has the fence of an old one": Mutant(
        memory_steps, "before.fence + 1 if before else 0", "0", seed=31
    ),
    "what is claimed can be claimed": Mutant(
        memory_activations, _CLAIMABLE, "is_pending = row.status.is_open and row.not_before <= now", seed=58
    ),
    "a run goes on by a transition that was overtaken": Mutant(
        memory_runs, "(run.superstep, run.revision) != (superstep, revision)", "False", seed=10
    ),
    "what is left of a superstep stays open": Mutant(
        memory_runs, "if not stays(run, step):", "if False:", seed=14
    ),
    "a paused run goes on": Mutant(memory_activations, _MAY_GO_ON, "run.cancel_at is None", seed=1),
    "a run that is to be cancelled goes on": Mutant(
        memory_activations, _MAY_GO_ON, "not run.is_paused", seed=14
    ),
    "a cancellation is never carried out": Mutant(
        deciding, "if run.cancel_reason is not None and not", "if not", seed=21
    ),
    "more run at a time than may": Mutant(
        memory_activations, 'count("running") >= limit', 'count("running") > limit', seed=32
    ),
    "a crash forgets what was tried": Mutant(
        memory_activations,
        "progress=row.progress if settled.progress is None else settled.progress",
        "progress=settled.progress",
        seed=53,
    ),
    "failed tries are forgotten": Mutant(worker, "progress=text, delay_s=again", "delay_s=again", seed=8),
    "effects are not kept": Mutant(
        memory_activations, "self._rows.effects.put(effect[:3], effect)", "pass", seed=49
    ),
    "effects are not read": Mutant(preparing, "if not effects:", "if effects:", seed=49),
    "nobody waits for child runs that rest": Mutant(
        memory_steps, "if run.status is not RunStatus.RUNNING:", "if run.status.is_final:", seed=51
    ),
    "answers do not get to child runs": Mutant(
        children, "return bool(names & call.answers.keys())", "return False", seed=46
    ),
    "what is expired is not taken back": Mutant(
        reconciler, "await self._apart(row.id.run_id, self._take_back(row, swept))", "pass", seed=46
    ),
    "runs that nobody decides about stay so": Mutant(
        reconciler, "for run in neglected:", "for run in ():", seed=31
    ),
    "lost messages are not sent again": Mutant(
        reconciler, "ledger.undispatched(older_than_s=self._redispatch_after_s)", "()", seed=18
    ),
    "a broker that is away is an error": Mutant(
        host, "except Exception as exc:", "except OSError(0) as exc:", seed=12
    ),
    "events are told twice": Mutant(
        cached_run, "events=batches(told)", "events=batches([*told, *told[-1:]])", seed=12
    ),
    "events are published when they are not": Mutant(
        outbox, "await self._store(group)", "await asyncio.sleep(0)", seed=12
    ),
    "what waits for longest is not published": Mutant(
        memory_states, 'listed("unpublished"), limit', 'listed("unpublished"), 1, limit', seed=31
    ),
    "what is known of a run is never too old": Mutant(
        run_cache, "cached_run is None or cached_run.revision < revision", "cached_run is None", seed=17
    ),
    "leases are not extended": Mutant(leases, "if not held:", "if held:", seed=38),
    "what joins a result is not done": Mutant(worker, "if result.on_commit:", "if False:", seed=47),
    "what joins a result is done although its claim was lost": Mutant(
        worker, _SETTLES, _SETTLES.replace("return", "ledger.apply(result.on_commit); return"), seed=2
    ),
    "what was written earlier in a lane is not seen": Mutant(
        preparing,
        "if all(cached_run.kept((executor_id, shard)) for shard in range(activation.shard)):",
        "if executor_id:",
        seed=64,
    ),
    "a submission with a known key is another one": Mutant(
        memory_runs, "if new.idempotency_key is not None:", "if False:", seed=73
    ),
    "what joins the beginning of a run is done again": Mutant(
        service, "if is_known or accepted != run_id:", "if accepted != run_id:", seed=73
    ),
}


def finds(name: str, seed: int) -> bool:
    """Whether a run shows a fault."""
    with mutated(FAULTS[name]):
        try:
            simulate(seed)
        except Exception:  # whatever it breaks
            return True
    return False


def runs_until_found(name: str, limit: int) -> int | None:
    """Return how many runs it took to find a fault, None if ``limit`` of them were as they should be."""
    first = FAULTS[name].seed
    for seed in range(first, first + limit):
        if finds(name, seed):
            simulate(seed)  # without the fault it is as it should be
            return seed - first + 1
    return None


def main() -> None:
    """Tell of each fault when it is found, from the first seed on."""
    for name in FAULTS:
        began = time.perf_counter()
        runs = next((seed + 1 for seed in range(300) if finds(name, seed)), None)
        found = "NOT FOUND" if runs is None else f"run {runs}"
        sys.stdout.write(f"{name}: {found}, {time.perf_counter() - began:.1f} s\n")


if __name__ == "__main__":
    main()
