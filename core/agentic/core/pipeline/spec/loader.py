"""Text, files and data to specs; all faults are reported together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

from pydantic import ValidationError

from agentic.core.actors import Actor
from agentic.core.actors.own_code import OwnCodeError
from agentic.core.pipeline.errors import Fault, SpecError
from agentic.core.pipeline.spec.check import find_faults
from agentic.core.pipeline.spec.freezing import Find, with_implied_inputs, with_pipelines
from agentic.core.pipeline.spec.messages import faults_of
from agentic.core.pipeline.spec.python_file import pipeline_of
from agentic.core.pipeline.spec.reader import SpecDocument, given_document, read_text
from agentic.core.pipeline.spec.repairing import repaired
from agentic.core.pipeline.spec.spec import PipelineSpec

Actors = Mapping[str, type[Actor]]
FILE_ENDINGS = (".yaml", ".yml", ".json", ".py")
"""File name endings of pipelines."""


def load_spec(
    path: Path | str,
    actors: Actors | None = None,
    *,
    find: Find | None = None,
    runs_code: bool = False,
) -> PipelineSpec:
    """Read a pipeline from a file; a spec without a name is named after the file.

    Args:
        path: YAML or JSON, UTF-8; or a Python file, which is run (see :func:`.pipeline_of`).
        actors: Name or alias -> actor; when given, the steps are checked against them too.
        find: Finds pipelines that steps name; it is not needed for files beside this one.
        runs_code: Run the Python files that it names, wherever they are, or itself. Only for a file that the
            user of this process has named: without it, only files below ``AGENTIC_MODULE_PATH`` are run.

    Raises:
        SpecError: The file does not exist, or it holds no usable spec; every fault is listed.
    """
    return _load(Path(path), actors, find, (), runs_code=runs_code)


def parse_spec(
    text: str,
    actors: Actors | None = None,
    *,
    source: str = "text",
    default_name: str = "pipeline",
    find: Find | None = None,
    folder: Path | None = None,
) -> PipelineSpec:
    """Read a pipeline from YAML or JSON text.

    Args:
        text: The spec.
        actors: Name or alias -> actor; when given, the steps are checked against them too.
        source: Names the text in errors.
        default_name: Of a spec that has none.
        find: Finds pipelines that steps name.
        folder: Folder of your own Python files that steps name; those below ``AGENTIC_MODULE_PATH`` are run.

    Raises:
        SpecError: The spec is not usable; every fault is listed with its line and column.
    """
    return _Reader(actors, source, find, folder).read(read_text(text, source), default_name)


def read_spec(
    data: Mapping[str, object],
    actors: Actors | None = None,
    *,
    default_name: str = "pipeline",
    find: Find | None = None,
    folder: Path | None = None,
) -> PipelineSpec:
    """Read a pipeline from data, as returned by ``json.loads``.

    Raises:
        SpecError: The spec is not usable; every fault is listed.
    """
    source = str(data.get("name", default_name))
    return _Reader(actors, source, find, folder).read(given_document(data, source), default_name)


@dataclass(frozen=True, slots=True)
class _Reader:
    """Makes specs of documents from one source."""

    actors: Actors | None
    source: str
    find: Find | None
    folder: Path | None = None
    runs_code: bool = False

    def read(self, document: SpecDocument, default_name: str) -> PipelineSpec:
        data = document.data
        if not isinstance(data, Mapping):
            kind = type(data).__name__
            message = f"it is a {kind}; a pipeline is a mapping with 'steps'"
            raise SpecError(self.source, [Fault(message=message)])
        try:
            checked = PipelineSpec.model_validate(
                {"name": default_name, **data},
                context={"actors": self.actors, "folder": self.folder, "runs_code": self.runs_code},
            )
        except ValidationError as exc:
            raise self._error(
                document, [*faults_of(exc), *self._others({"name": default_name, **data})]
            ) from None
        spec = self._whole(checked)
        if self.actors is not None and (faults := find_faults(spec, self.actors)):
            raise self._error(document, faults)
        return spec

    def _others(self, data: Mapping[str, object]) -> list[Fault]:
        """Return the other faults of a spec with an invalid shape."""
        rest = None if self.actors is None else repaired(data)
        if self.actors is None or rest is None:
            return []
        try:
            whole = self._whole(rest.spec)
            return rest.certain(find_faults(whole, self.actors, rest.names))
        except (SpecError, OwnCodeError):  # of a pipeline or file it names; reported once this one is right
            return []

    def _whole(self, spec: PipelineSpec) -> PipelineSpec:
        if self.find is not None:
            spec = with_pipelines(spec, self.find)
        return spec if self.actors is None else with_implied_inputs(spec, self.actors)

    def _error(self, document: SpecDocument, faults: Sequence[Fault]) -> SpecError:
        located = map(document.locate, dict.fromkeys(faults))
        return SpecError(self.source, sorted(located, key=lambda fault: (fault.line or 0, fault.column or 0)))


def _load(
    path: Path, actors: Actors | None, find: Find | None, around: tuple[Path, ...], *, runs_code: bool
) -> PipelineSpec:
    """Read a file that is part of those in ``around``."""
    if path.resolve() in around:
        raise SpecError(str(path), [Fault(message="it contains itself; refer to another pipeline")])

    def beside(name: str) -> PipelineSpec | None:
        if name.endswith(FILE_ENDINGS):
            return _load(path.parent / name, actors, find, (*around, path.resolve()), runs_code=runs_code)
        return find(name) if find is not None else None

    reader = _Reader(actors, str(path), beside, path.parent, runs_code)
    if path.suffix != ".py":
        return reader.read(read_text(_text_of(path), str(path)), path.stem)
    if not runs_code:
        message = "it is Python, and only files that the user of a command names are run; use YAML or JSON"
        raise SpecError(str(path), [Fault(message=message)])
    return reader.read(given_document(pipeline_of(path), str(path)), path.stem)


def _near(path: Path) -> str:
    """Return the advice about a file that does not exist: a pipeline beside it with nearly its name."""
    try:
        files = {file.stem: file.name for file in path.parent.iterdir() if file.suffix in FILE_ENDINGS}
    except OSError:  # there is no such folder, or it cannot be listed
        files = {}
    near = get_close_matches(path.stem, files, n=1)
    return f"did you mean {files[near[0]]!r}?" if near else "check the path"


def _text_of(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as exc:
        reason = exc.strerror or type(exc).__name__
        advice = _near(path) if isinstance(exc, FileNotFoundError) else "check the path"
        raise SpecError(str(path), [Fault(message=f"it cannot be read: {reason}; {advice}")]) from None
    except UnicodeDecodeError as exc:
        raise SpecError(str(path), [Fault(message=f"it is not UTF-8 text: {exc.reason}")]) from None
