"""Text, files and data to specs, with every fault told at once."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from pydantic import ValidationError

from agentic.core.actors import Actor
from agentic.core.pipeline.check import find_faults
from agentic.core.pipeline.errors import Fault, SpecError
from agentic.core.pipeline.reader import Document, read_text
from agentic.core.pipeline.spec import PipelineSpec
from agentic.core.pipeline.translate import faults_of

Actors = Mapping[str, type[Actor]]


def load_spec(path: Path | str, actors: Actors | None = None) -> PipelineSpec:
    """Read a pipeline from a YAML or JSON file; a spec without a name is named after the file.

    Args:
        path: The file, UTF-8.
        actors: Name or alias -> actor; when given, the steps are checked against them too.

    Raises:
        SpecError: There is no such file, or it holds no usable spec; every fault is listed.
    """
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as exc:
        reason = exc.strerror or type(exc).__name__
        raise SpecError(str(path), [Fault(message=f"it cannot be read: {reason}; check the path")]) from None
    except UnicodeDecodeError as exc:
        raise SpecError(str(path), [Fault(message=f"it is no UTF-8 text: {exc.reason}")]) from None
    return parse_spec(text, actors, source=str(path), default_name=path.stem)


def parse_spec(
    text: str, actors: Actors | None = None, *, source: str = "text", default_name: str = "pipeline"
) -> PipelineSpec:
    """Read a pipeline from YAML or JSON text.

    Args:
        text: The spec.
        actors: Name or alias -> actor; when given, the steps are checked against them too.
        source: Names the text in errors.
        default_name: Of a spec that has none.

    Raises:
        SpecError: It is no usable spec; every fault is listed with its line.
    """
    return _read(read_text(text, source), actors, source, default_name)


def read_spec(
    data: Mapping[str, object], actors: Actors | None = None, *, default_name: str = "pipeline"
) -> PipelineSpec:
    """Read a pipeline from data, as ``json.loads`` gives it.

    Raises:
        SpecError: It is no usable spec; every fault is listed.
    """
    return _read(Document(data, {}), actors, str(data.get("name", default_name)), default_name)


def _read(document: Document, actors: Actors | None, source: str, default_name: str) -> PipelineSpec:
    data = document.data
    if not isinstance(data, Mapping):
        kind = type(data).__name__
        raise SpecError(source, [Fault(message=f"it is a {kind}; a pipeline is a mapping with 'steps'")])
    try:
        spec = PipelineSpec.model_validate({"name": default_name, **data}, context={"actors": actors})
        faults = find_faults(spec, actors) if actors is not None else []
    except ValidationError as exc:
        faults = faults_of(exc)
        spec = None
    if faults or spec is None:
        located = [document.locate(fault) for fault in faults]
        raise SpecError(source, sorted(located, key=lambda fault: (fault.line or 0, fault.column or 0)))
    return spec
