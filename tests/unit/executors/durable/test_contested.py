"""A workflow that two plugins claim leads nowhere, and the others are found."""

from __future__ import annotations

import pytest

from agentic.core.errors import DuplicateNameError
from agentic.core.graph import Workflow, WorkflowBuilder, executor
from agentic.core.hooks import Offers
from agentic.executors.durable import UnknownWorkflowError
from agentic.executors.durable.runs.catalog import WorkflowCatalog


@executor(id="echo")
def echo(text: str) -> str:
    return text


def built() -> Workflow:
    return WorkflowBuilder("own").set_start(echo).build()


def test_a_contested_workflow_names_both_plugins_and_the_others_are_found() -> None:
    clash = DuplicateNameError("workflow", "both", "agentic-plugin-a 1.0 (a)", "agentic-plugin-b 2.0 (b)")
    catalog = WorkflowCatalog(Offers({"both": built, "own": built}, {"both": clash}))
    assert catalog.get("own").workflow.id == "own"
    with pytest.raises(UnknownWorkflowError, match=r"agentic-plugin-a 1\.0 .*agentic-plugin-b 2\.0"):
        catalog.get("both")
