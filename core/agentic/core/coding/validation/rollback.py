"""Takes stored runs back to an earlier superstep."""

from __future__ import annotations

from collections.abc import Sequence

from agentic.core.coding.errors import NoRollbackPointError
from agentic.core.graph import (
    CheckpointMetadata,
    CheckpointNotFoundError,
    CheckpointStore,
    RunResult,
    Workflow,
    WorkflowConfig,
)
from agentic.core.types import RunId


class RollbackManager:
    """Repeats stored runs of a workflow from an earlier point, such as before a step that went wrong.

    A rollback is a fork: a new run continues from a copy of the checkpoint, and the history of the old run
    stays as it is. Effects of executors outside of the run are not undone.

    Args:
        workflow: The workflow in its present form: changed executors do the work again.
        checkpoints: The store of its runs.
    """

    def __init__(self, workflow: Workflow, checkpoints: CheckpointStore) -> None:
        self.workflow = workflow
        self.checkpoints = checkpoints

    async def points(self, run_id: str) -> Sequence[CheckpointMetadata]:
        """Return the points that a run can go back to, oldest first: the beginning of each superstep.

        A superstep is missing if its first checkpoint or the one before that was removed
        (``WorkflowConfig.keep_checkpoints``). So is one that has just begun:
        :meth:`~agentic.core.graph.Workflow.resume` does it.

        Raises:
            CheckpointNotFoundError: The store has no such run.
        """
        stored = sorted(await self._checkpoints_of(run_id), key=lambda point: point.revision)
        before = {point.revision + 1: point.superstep for point in stored}
        return [
            point
            for point in stored[:-1]
            if point.revision == 1 or before.get(point.revision, point.superstep) < point.superstep
        ]

    async def roll_back(
        self, run_id: str, superstep: int, *, config: WorkflowConfig | None = None
    ) -> RunResult:
        """Repeat a run from the beginning of a superstep; the result's ``run_id`` names the new run.

        Args:
            run_id: The run.
            superstep: From 0. Everything before it stays done.
            config: Limits of the new run instead of the workflow's.

        Raises:
            CheckpointNotFoundError: The store has no such run.
            NoRollbackPointError: The run cannot go back to that superstep.
            CheckpointVersionError: The checkpoint is of another version of the workflow.
            Exception: As :meth:`~agentic.core.graph.Workflow.run`.
        """
        points = await self.points(run_id)
        for point in points:
            if point.superstep == superstep:
                return await self.workflow.resume(
                    run_id, checkpoints=self.checkpoints, checkpoint_id=point.id, config=config
                )
        raise NoRollbackPointError(run_id, superstep, [point.superstep for point in points])

    async def _checkpoints_of(self, run_id: str) -> Sequence[CheckpointMetadata]:
        found = await self.checkpoints.list_metadata(run_id=RunId(run_id))
        if not found:
            raise CheckpointNotFoundError(RunId(run_id))
        return found
