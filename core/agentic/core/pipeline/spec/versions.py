"""The version of a pipeline's workflow: a run continues with the version it began with."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping

from agentic.core.actors import Actor
from agentic.core.pipeline.spec.spec import PipelineSpec
from agentic.core.pipeline.spec.walking import named_by


def version_of(spec: PipelineSpec, actors: Mapping[str, type[Actor]]) -> str:
    """Return a name for a spec and the versions of the actors it names.

    Other actors do not count, and neither do values that the spec leaves to defaults (a process may set
    them): both may change while runs continue.

    Args:
        spec: The pipeline, which fits the actors.
        actors: Name or alias -> actor.
    """
    said = spec.model_dump(mode="json", exclude={"description"}, exclude_unset=True)
    named = {actors[name] for name in named_by(spec)}
    text = json.dumps([said, sorted([actor.name, actor.version] for actor in named)], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]
