"""The definition of a workflow: its graph, version and limits."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from typing import ClassVar

from pydantic import ConfigDict, TypeAdapter

from agentic.core.graph.codec.codec import Codec
from agentic.core.graph.definition.edges import Graph
from agentic.core.graph.definition.run_services import BaseWorkflow
from agentic.core.graph.model.document import Migrate
from agentic.core.graph.model.policies import WorkflowConfig
from agentic.core.types import JSONValue, WorkflowId


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkflowSignature:
    """A workflow's shape and code, as fingerprints.

    Attributes:
        workflow_id: The workflow.
        version: As given by its author, or None.
        parts: Executor, edge, state key or order -> fingerprint of its shape: kinds, message types and modes,
            but no limits and no code. Parts within a sub-workflow are named with the path of their node.
        code: Executor, condition, selector or reducer -> fingerprint of its code.
    """

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid")

    workflow_id: str
    version: str | None
    parts: Mapping[str, str]
    code: Mapping[str, str]

    @property
    def shape(self) -> str:
        """A fingerprint of all parts."""
        return digest(dict(self.parts))

    @property
    def text(self) -> str:
        """A fingerprint of everything, version included."""
        return digest(self.to_dict())

    def to_dict(self) -> dict[str, JSONValue]:
        """Return the signature as JSON."""
        return {
            "workflow_id": self.workflow_id,
            "version": self.version,
            "parts": dict(self.parts),
            "code": dict(self.code),
        }

    @staticmethod
    def from_dict(data: Mapping[str, JSONValue]) -> WorkflowSignature:
        """Return the signature that :meth:`to_dict` was called on.

        Raises:
            ValidationError: ``data`` is not a signature.
        """
        return _adapter().validate_python(dict(data))


@cache
def _adapter() -> TypeAdapter[WorkflowSignature]:
    return TypeAdapter(WorkflowSignature)


def digest(data: JSONValue) -> str:
    """Return 16 hexadecimal digits that stand for ``data``."""
    return hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()[:16]


class WorkflowDefinition(BaseWorkflow):
    """A validated graph with its name, version and limits.

    Attributes:
        id: Its name.
        version: As given by its author, or None.
        config: Limits of its runs.
        graph: Executors and edges.
        migrations: Version of a checkpoint -> the function that converts it to this version.
        has_lent_version: Whether it has the version of the workflow around it, see :meth:`within`.
    """

    def __init__(
        self,
        id: str,
        version: str | None,
        config: WorkflowConfig,
        graph: Graph,
        migrations: Mapping[str | None, Migrate] | None = None,
    ) -> None:
        self.id = WorkflowId(id)
        self.version = version
        self.config = config
        self.graph = graph
        self.migrations = dict(migrations or {})
        self.has_lent_version = False

    @cached_property
    def signature(self) -> WorkflowSignature:
        """The version, shape and code of this workflow, as fingerprints."""
        raise NotImplementedError

    @cached_property
    def codec(self) -> Codec:
        """Stores the values of the types that the workflow uses."""
        raise NotImplementedError

    def within(self, around: WorkflowDefinition) -> WorkflowDefinition:
        """Return this workflow for child runs of ``around``.

        It can store values of all types that ``around`` uses, because its executors see the errors of earlier
        tries there. Without a version of its own it has the version of ``around``: the code of a child run
        may then change while the version stays.
        """
        raise NotImplementedError

    def check_storable(self) -> None:
        """Refuse to start a stored run whose messages can never be stored.

        Raises:
            UnstorableTypesError: An executor takes or returns only types that can never be stored.
        """
        raise NotImplementedError


def definition_of(workflow: BaseWorkflow) -> WorkflowDefinition:
    """Return the workflow that a handler asked to run.

    Raises:
        TypeError: It is something else, such as a builder.
    """
    if not isinstance(workflow, WorkflowDefinition):
        kind = type(workflow).__name__
        raise TypeError(f"ctx.run_workflow takes a workflow, not a {kind}; call build() of a builder first")
    return workflow
