"""The target of ``agentic run``: an agent, or a pipeline from a file or stored."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from agentic.core.types import JSONValue

if TYPE_CHECKING:
    from agentic.executors.agents.catalog import AgentFacts

PIPELINE_ENDINGS = (".yaml", ".yml", ".json")
PIPELINE_PLATFORM = "web"
_KEPT = re.compile(r"[A-Za-z0-9_.-]+@[0-9]*")


def pipeline_facts(
    target: str, inputs: Mapping[str, JSONValue], goals: str | None, *, project: str | None
) -> AgentFacts | None:
    """Return the agent made from a pipeline, which is not needed afterwards; None if an agent is meant.

    Args:
        target: A file, ``shop@2`` for that version of a stored pipeline, ``shop@`` for its newest.
        inputs: Inputs of the pipeline.
        goals: Goals of the agent.
        project: Holds the pipelines; by default the project of the settings.

    Raises:
        SpecError: The pipeline cannot be used.
        PipelineInputError: The inputs differ from its declaration.
        UnknownPipelineError: No stored pipeline has that name or version.
    """
    if not target.endswith(PIPELINE_ENDINGS) and _KEPT.fullmatch(target) is None:
        return None
    from agentic.core.pipeline import read_inputs
    from agentic.executors.agents.catalog import AgentFacts
    from agentic.executors.commands.pipelines import read_pipeline

    spec = read_pipeline(target.removesuffix("@"), project)
    read_inputs(spec, inputs)
    pipeline: dict[str, JSONValue] = spec.model_dump(mode="json", exclude_unset=True, by_alias=True)
    config: dict[str, JSONValue] = {"pipeline": pipeline, "inputs": dict(inputs)}
    return AgentFacts(name=spec.name, platform=PIPELINE_PLATFORM, config=config, goals=goals)
