"""Pipelines by name and version. A version never changes; storing an unchanged pipeline adds none."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from agentic.core.audit import DecisionKind
from agentic.core.pipeline import PipelineSpec
from agentic.core.types import JSONValue
from agentic.mappers.audit import audit
from agentic.mappers.errors import UnknownPipelineError
from agentic.mappers.tables.core import PipelineModel

_REFERENCE = re.compile(r"(?P<name>[A-Za-z0-9_.-]+)(?:@(?P<version>[1-9][0-9]{0,8}))?")


def store_pipeline(session: Session, project_id: str, spec: PipelineSpec) -> tuple[PipelineModel, bool]:
    """Store a pipeline under its name; return its newest version, and whether it is new.

    Args:
        session: In a transaction.
        project_id: Owns the pipeline.
        spec: With all pipelines that it names inserted, so that each run is the same.
    """
    newest = _newest(session, project_id, spec.name)
    digest = digest_of(spec)
    if newest is not None and newest.digest == digest:
        return newest, False
    made = PipelineModel(
        project_id=project_id,
        name=spec.name,
        version=1 if newest is None else newest.version + 1,
        digest=digest,
        spec=as_written(spec),
    )
    session.add(made)
    session.flush()
    what = f"pipeline {made.name}@{made.version} is stored"
    audit(session, project_id, DecisionKind.PIPELINE_STORED, made.name, what, version=made.version)
    return made, True


def find_stored(session: Session, project_id: str, name: str) -> PipelineModel:
    """Return a stored pipeline.

    Args:
        session: To read with.
        project_id: Owns the pipeline.
        name: ``shop`` for the newest version, ``shop@2`` for version 2.

    Raises:
        UnknownPipelineError: It does not exist.
    """
    found = _REFERENCE.fullmatch(name)
    plain, version = (found["name"], found["version"]) if found else (name, None)
    pipeline = (
        _newest(session, project_id, plain)
        if version is None
        else session.get(PipelineModel, (project_id, plain, int(version)))
    )
    if pipeline is None:
        raise UnknownPipelineError(name, _known(list_pipelines(session, project_id), plain))
    return pipeline


def list_pipelines(session: Session, project_id: str) -> Sequence[PipelineModel]:
    """Return every version of every pipeline of a project, newest versions first within a name."""
    query = select(PipelineModel).where(PipelineModel.project_id == project_id)
    return session.scalars(query.order_by(PipelineModel.name, PipelineModel.version.desc())).all()


def digest_of(spec: PipelineSpec) -> str:
    """Return a hash of a pipeline's behaviour: 64 hex digits, the same in every process."""
    text = json.dumps(spec.model_dump(mode="json", by_alias=True), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def as_written(spec: PipelineSpec) -> dict[str, JSONValue]:
    """Return a pipeline as data, without unset fields."""
    return {"schema_version": 1, **spec.model_dump(mode="json", by_alias=True, exclude_unset=True)}


def _known(kept: Sequence[PipelineModel], name: str) -> list[str]:
    """Return the versions of the pipeline with that name; without one, the names of all."""
    versions = [f"{known.name}@{known.version}" for known in kept if known.name == name.partition("@")[0]]
    return versions or sorted({known.name for known in kept})


def _newest(session: Session, project_id: str, name: str) -> PipelineModel | None:
    own = (PipelineModel.project_id == project_id, PipelineModel.name == name)
    newest = select(func.max(PipelineModel.version)).where(*own).scalar_subquery()
    return session.scalar(select(PipelineModel).where(*own, PipelineModel.version == newest))
