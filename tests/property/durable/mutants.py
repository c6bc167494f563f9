"""Faults of durable runs, one at a time: each has to be found by the simulator.

python -m tests.property.durable.mutants          # all of them, with the runs it took
"""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass

from tests.property.durable.simulator import simulate
from tests.property.graph.mutants import Mutant, mutated

from agentic.core.ledger import memory_activations, memory_runs, memory_states, memory_steps
from agentic.executors.durable import (
    children,
    deciding,
    host,
    image,
    images,
    leases,
    outbox,
    preparing,
    reconciler,
    starting,
    worker,
)


@dataclass(frozen=True)
class Fault(Mutant):
    """A mutant.

    Attributes:
        seed: The first one to look at: it finds the fault, or did so when it was written down.
    """

    seed: int = 0


_CLAIMABLE = "is_pending = row.status is ActivationStatus.PENDING and row.not_before <= now"
_MAY_GO_ON = "not run.is_paused and run.cancel_at is None"
_SETTLES = "if not ledger.settle(job.claimed.lease, settled):\n            return False\n"

FAULTS: Mapping[str, Fault] = {
    "who lost a claim settles that of another one": Fault(
        memory_activations,
        "row.status is ActivationStatus.RUNNING and row.fence == lease.fence",
        "row.status is ActivationStatus.RUNNING",
        seed=2,
    ),
    "a claim made anew has the fence of an old one": Fault(
        memory_steps, "before.fence + 1 if before else 0", "0", seed=31
    ),
    "what is claimed can be claimed": Fault(
        memory_activations, _CLAIMABLE, "is_pending = row.status.is_open and row.not_before <= now", seed=58
    ),
    "a run goes on by a decision that was overtaken": Fault(
        memory_runs, "(run.superstep, run.revision) != (superstep, revision)", "False", seed=10
    ),
    "what is left of a superstep stays open": Fault(
        memory_runs, "if not stays(run, step):", "if False:", seed=14
    ),
    "a paused run goes on": Fault(memory_activations, _MAY_GO_ON, "run.cancel_at is None", seed=1),
    "a run that is to be cancelled goes on": Fault(
        memory_activations, _MAY_GO_ON, "not run.is_paused", seed=14
    ),
    "a cancellation is never carried out": Fault(
        deciding, "if run.cancel_reason is not None and not", "if not", seed=21
    ),
    "more run at a time than may": Fault(
        memory_activations, 'count("running") >= limit', 'count("running") > limit', seed=32
    ),
    "a crash forgets what was tried": Fault(
        memory_activations,
        "progress=row.progress if settled.progress is None else settled.progress",
        "progress=settled.progress",
        seed=53,
    ),
    "failed tries are forgotten": Fault(worker, "progress=text, delay_s=again", "delay_s=again", seed=8),
    "effects are not kept": Fault(
        memory_activations, "self._rows.effects.put(effect[:3], effect)", "pass", seed=49
    ),
    "effects are not read": Fault(preparing, "if not effects:", "if effects:", seed=49),
    "nobody waits for child runs that rest": Fault(
        memory_steps, "if run.status is not RunStatus.RUNNING:", "if run.status.is_final:", seed=51
    ),
    "answers do not get to child runs": Fault(
        children, "return bool(names & call.answers.keys())", "return False", seed=38
    ),
    "what is expired is not taken back": Fault(
        reconciler, "await self._apart(row.id.run_id, self._take_back(row, swept))", "pass", seed=46
    ),
    "runs that nobody decides about stay so": Fault(
        reconciler, "for run in neglected:", "for run in ():", seed=31
    ),
    "lost messages are not sent again": Fault(
        reconciler, "ledger.undispatched(older_than_s=self._redispatch_after_s)", "()", seed=18
    ),
    "a broker that is away is an error": Fault(
        host, "except Exception as exc:", "except OSError(0) as exc:", seed=12
    ),
    "events are told twice": Fault(
        image, "events=batches(told)", "events=batches([*told, *told[-1:]])", seed=12
    ),
    "events are published when they are not": Fault(
        outbox, "await self._store(group)", "await asyncio.sleep(0)", seed=12
    ),
    "what waits for longest is not published": Fault(
        memory_states, 'listed("unpublished"), limit', 'listed("unpublished"), 1, limit', seed=31
    ),
    "what is known of a run is never too old": Fault(
        images, "image is None or image.revision < revision", "image is None", seed=17
    ),
    "leases are not extended": Fault(leases, "if not held:", "if held:", seed=38),
    "what joins a result is not done": Fault(worker, "if result.on_commit:", "if False:", seed=47),
    "what joins a result is done although its claim was lost": Fault(
        worker, _SETTLES, _SETTLES.replace("return", "ledger.apply(result.on_commit); return"), seed=2
    ),
    "what was written earlier in a lane is not seen": Fault(
        preparing,
        "if all(image.kept((executor_id, shard)) for shard in range(activation.shard)):",
        "if executor_id:",
        seed=53,
    ),
    "a submission with a known key is another one": Fault(
        memory_runs, "if new.idempotency_key is not None:", "if False:", seed=33
    ),
    "what joins the beginning of a run is done again": Fault(
        starting, "if is_known or accepted != run_id:", "if accepted != run_id:", seed=46
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
