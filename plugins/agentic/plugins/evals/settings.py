"""The settings of evaluations: an evaluation as data."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Self

from pydantic import ValidationInfo, model_validator

from agentic.core.evals.loading import find_eval_faults, load_eval
from agentic.core.evals.spec import EvalSpec
from agentic.core.types import JSONValue


class EvalSettings(EvalSpec):
    """The config of an evaluation: an :class:`~agentic.core.evals.EvalSpec`."""

    @model_validator(mode="after")
    def _can_run(self, info: ValidationInfo) -> Self:
        # A file's faults are reported with their lines, by its reader.
        if "folder" not in (info.context or {}) and (faults := find_eval_faults(self)):
            raise ValueError("; ".join(map(str, faults)))
        return self


def load_config(path: Path) -> Mapping[str, JSONValue]:
    """Return the config in a file that the user of this process has named; paths in it are resolved.

    Raises:
        EvalSpecError: It cannot be used; every fault is listed.
    """
    return config_of(load_eval(path, EvalSettings, runs_code=True))


def config_of(spec: EvalSettings) -> dict[str, JSONValue]:
    """Return an evaluation as the config of an agent."""
    found: dict[str, JSONValue] = spec.model_dump(mode="json", by_alias=True, exclude_unset=True)
    return found
