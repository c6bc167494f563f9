"""Looks of the fields of a pipeline: stored ones, and files with them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from agentic.core.settings import load_settings
from agentic.core.types import JSONValue
from agentic.executors.commands.shared.database import current_database, opened
from agentic.executors.commands.shared.options import OptionError

if TYPE_CHECKING:
    from sqlalchemy.orm import Session

    from agentic.core.pipeline import PipelineSpec
    from agentic.core.wrappers import Wrapper


def learnt_wrappers(
    spec: PipelineSpec, project: str | None, schema: JSONValue | None = None
) -> Sequence[Wrapper]:
    """Return the stored wrappers of a pipeline's fields; none without a database.

    Args:
        spec: The pipeline.
        project: Its name; None for the project of the settings.
        schema: Of this schema alone.
    """
    from agentic.core.pipeline.drift.learning import keys_of_schemas
    from agentic.mappers import Database, UnknownProjectError, find_project
    from agentic.mappers.crawl.wrappers import load_wrappers

    settings = load_settings()
    if Database.configured(settings).is_missing:
        return []
    wanted = [keys for one, keys in keys_of_schemas(spec.steps) if schema is None or one == schema]
    with opened(current_database(settings)) as database, database.reading() as session:
        try:
            owner = find_project(session, project or settings.project)
        except UnknownProjectError:
            if project is not None:
                raise
            return []
        return [
            wrapper
            for keys in wanted
            for wrapper in load_wrappers(session, owner.id, spec.name, keys).values()
        ]


def read_wrappers(path: Path) -> list[Wrapper]:
    """Return the wrappers in a file of ``pipelines build`` or ``pipelines wrappers``.

    Raises:
        OptionError: It cannot be read, or holds something else.
    """
    from agentic.core.wrappers import decode

    try:
        return [decode(line) for line in path.read_bytes().splitlines() if line.strip()]
    except OSError as exc:
        raise OptionError(f"--wrappers: {path} cannot be read ({exc.strerror}); check the path") from None
    except (ValueError, KeyError, TypeError, AttributeError) as exc:
        raise OptionError(f"--wrappers: {path} does not hold wrappers: {exc}") from None


def keep_wrappers(session: Session, project_id: str, spec: PipelineSpec, path: Path) -> int:
    """Store the wrappers of a file for the fields that have their names in a pipeline; return their number.

    Raises:
        OptionError: The file cannot be used, or no field of the pipeline has such a name.
    """
    from agentic.core.pipeline.drift.learning import keys_of_schemas
    from agentic.mappers.crawl.wrappers import save_wrappers

    given: Mapping[str, Wrapper] = {one.name: one for one in read_wrappers(path)}
    kept = {
        key: given[name]
        for _, keys in keys_of_schemas(spec.steps)
        for name, key in keys.items()
        if name in given
    }
    if not kept:
        names = ", ".join(given) or "none"
        raise OptionError(f"--wrappers: no field of {spec.name} is in {path} (fields there: {names})")
    save_wrappers(session, project_id, spec.name, kept)
    return len(kept)
