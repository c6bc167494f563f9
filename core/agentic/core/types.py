"""The words signatures are made of."""

from __future__ import annotations

from typing import NewType

from pydantic import JsonValue

JSONValue = JsonValue
"""Anything ``json.dumps`` takes and ``json.loads`` gives back."""

ExecutorId = NewType("ExecutorId", str)
"""Name of a node, unique in its graph."""

RunId = NewType("RunId", str)
"""Name of one run of a workflow. A sub-workflow's run is named ``parent/executor.superstep.shard``."""

ProjectId = NewType("ProjectId", str)
AgentId = NewType("AgentId", str)
ExecutionId = NewType("ExecutionId", str)
