"""Evaluations from files and data; all faults are reported together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from pydantic import ValidationError

from agentic.core.agents.specs.loading import find_faults
from agentic.core.agents.specs.models import option_faults
from agentic.core.errors import AgenticError
from agentic.core.evals.cases import CaseColumns
from agentic.core.evals.errors import EvalSpecError
from agentic.core.evals.evaluators import KINDS
from agentic.core.evals.spec import RECORDINGS, EvalSpec, EvalTask, all_choices
from agentic.core.pipeline.errors import Fault, SpecError
from agentic.core.pipeline.expressions.suggestions import unknown_word
from agentic.core.pipeline.spec.messages import plain_message, unknown_key
from agentic.core.pipeline.spec.reader import SpecDocument, given_document, read_text

SpecT = TypeVar("SpecT", bound=EvalSpec)
Place = tuple[str | int, ...]


def load_eval(path: Path | str, kind: type[SpecT], *, runs_code: bool = False) -> SpecT:
    """Read an evaluation from a YAML or JSON file; one without a name is named after the file.

    Args:
        path: The file. Paths in it are relative to it.
        kind: :class:`EvalSpec`, or a subclass.
        runs_code: Use the files that it names, wherever they are; see
            :func:`~agentic.core.agents.load_agent_spec`.

    Raises:
        EvalSpecError: It cannot be read or used; every fault is listed.
    """
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as exc:
        reason = exc.strerror if isinstance(exc, OSError) else "it is not text"
        message = f"it cannot be read ({reason}); check the path"
        raise EvalSpecError(str(path), [Fault(message=message)]) from None
    document = _document(text, str(path))
    context = {"folder": path.parent, "runs_code": runs_code}
    data = document.data
    if not isinstance(data, Mapping):
        message = f"it is a {type(data).__name__}; an evaluation is a mapping with 'task' and 'cases'"
        raise EvalSpecError(str(path), [Fault(message=message)])
    given_document(data, str(path))
    stem = path.name.removesuffix(path.suffix)
    whole = {"name": stem.removesuffix(".eval"), "recordings": f"{stem}{RECORDINGS}", **data}
    try:
        spec = kind.model_validate(whole, context=context)
    except ValidationError as exc:
        raise EvalSpecError(str(path), _located(document, faults_in(exc))) from None
    except AgenticError as exc:  # of a file that it names; the message has its name
        raise EvalSpecError(str(path), [Fault(message=str(exc))]) from None
    if faults := find_eval_faults(spec):
        raise EvalSpecError(str(path), _located(document, faults))
    return spec


def find_eval_faults(spec: EvalSpec) -> list[Fault]:
    """Return the faults that only the installation shows: of models, tools, actors and functions."""
    found = [Fault(place=place, message=message) for place, message in spec.faults()]
    if spec.task.agent is not None:
        found += [
            Fault(place=("task", "agent", *fault.place), message=fault.message)
            for fault in find_faults(spec.task.agent)
        ]
    for place, choice in all_choices(spec):
        found += [Fault(place=(*place, *below), message=message) for below, message in option_faults(choice)]
    return found


def faults_in(exc: ValidationError) -> list[Fault]:
    """Return the faults of an evaluation, with places as in its text."""
    found = []
    for error in exc.errors():
        place = tuple(part for part in error["loc"] if part not in _TAGS)
        match error["type"]:
            case "extra_forbidden":
                message = _unknown_key(place)
            case "missing":
                message = f"{place[-1]!r} is missing"
            case "union_tag_invalid":
                message = unknown_word("kind", str(error.get("ctx", {})["tag"]), KINDS)
            case "union_tag_not_found":
                message = f"'kind' is missing (known: {', '.join(sorted(KINDS))})"
            case "value_error":
                message = str(error.get("ctx", {})["error"])
            case _:
                message = plain_message(error)
        found.append(Fault(place=place, message=message))
    return found


_TAGS = frozenset({"tuple[EvalCase, ...]", "StoredCases", "str", *KINDS})
"""Pydantic's words for variants of values: no keys of the file."""


def _unknown_key(place: Place) -> str:
    match place:
        case (name,):
            return unknown_key(name, EvalSpec)
        case ("task", name):
            return unknown_key(name, EvalTask)
        case ("columns", name):
            return unknown_key(name, CaseColumns)
        case _:
            return f"unknown key {place[-1]!r}"


def _document(text: str, source: str) -> SpecDocument:
    if not text.strip():
        raise EvalSpecError(source, [Fault(message="it is empty; an evaluation needs 'task' and 'cases'")])
    try:
        return read_text(text, source)
    except SpecError as exc:
        raise EvalSpecError(source, exc.faults) from None


def _located(document: SpecDocument, faults: Sequence[Fault]) -> list[Fault]:
    located = map(document.locate, dict.fromkeys(faults))
    return sorted(located, key=lambda fault: (fault.line or 0, fault.column or 0))
