"""The pipelines that come with the plugin, and where an agent's pipeline is found."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path

from agentic.core.actors import Actor
from agentic.core.pipeline import Fault, PipelineSpec, SpecError, load_spec, parse_spec, read_spec
from agentic.core.types import JSONValue

_FOLDER = files("agentic.plugins.web") / "pipelines"
_FILE_ENDINGS = (".yaml", ".yml", ".json")


def packaged_names() -> list[str]:
    """Return the names of the pipelines that come with the plugin."""
    found = (entry.name for entry in _FOLDER.iterdir())
    return sorted(name.removesuffix(".yaml") for name in found if name.endswith(".yaml"))


def find_pipeline(pipeline: str | Mapping[str, JSONValue], actors: Mapping[str, type[Actor]]) -> PipelineSpec:
    """Return a pipeline, checked against ``actors``.

    Args:
        pipeline: Name of a packaged one, path of a YAML or JSON file, or the spec itself.
        actors: Name or alias -> actor.

    Raises:
        SpecError: There is none of that name or path, or it cannot be used.
    """
    if not isinstance(pipeline, str):
        return read_spec(pipeline, actors)
    if pipeline.endswith(_FILE_ENDINGS):
        return load_spec(Path(pipeline), actors)
    known = packaged_names()
    if pipeline not in known:
        message = f"no pipeline has that name (known: {', '.join(known)}); a file ends in .yaml or .json"
        raise SpecError(repr(pipeline), [Fault(message=message)])
    text = (_FOLDER / f"{pipeline}.yaml").read_text(encoding="utf-8")
    return parse_spec(text, actors, source=pipeline, default_name=pipeline)
