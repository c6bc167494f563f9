"""The version of a pipeline's workflow: what a run began with, it goes on with."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping

from agentic.core.actors import Actor
from agentic.core.pipeline.spec.spec import PipelineSpec
from agentic.core.pipeline.spec.walking import named_by


def version_of(spec: PipelineSpec, actors: Mapping[str, type[Actor]]) -> str:
    """Return a name for a spec and the versions of the actors it names.

    Other actors do not count, nor does what the spec leaves to defaults, as a process may set those: they
    come and go while runs go on.

    Args:
        spec: The pipeline, which fits the actors.
        actors: Name or alias -> actor.
    """
    said = spec.model_dump(mode="json", exclude={"description"}, exclude_unset=True)
    named = {actors[name] for name in named_by(spec)}
    text = json.dumps([said, sorted([actor.name, actor.version] for actor in named)], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]
