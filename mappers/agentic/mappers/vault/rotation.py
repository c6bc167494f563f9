"""All secrets and sessions at once: encrypt again, or check."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial

from sqlalchemy import select, tuple_

from agentic.core.audit import DecisionKind
from agentic.mappers.audit import audit
from agentic.mappers.database.database import Database
from agentic.mappers.tables.vault import SealedModel, SecretModel, SessionModel
from agentic.mappers.vault.errors import Sealed, UnreadableSecretError
from agentic.mappers.vault.keys import Label, SecretKeys

BATCH_SIZE = 100

_KINDS: tuple[tuple[Sealed, type[SealedModel]], ...] = (("secret", SecretModel), ("session", SessionModel))


@dataclass(slots=True)
class Rotation:
    """The result of a rotation.

    Attributes:
        counts: How many of each kind are now encrypted with the first key.
        unreadable: A sentence for each that no key decrypts; it stays unchanged.
    """

    counts: dict[str, int] = field(default_factory=lambda: {"secret": 0, "session": 0})
    unreadable: list[str] = field(default_factory=list)


def rotate(database: Database, keys: SecretKeys, *, batch_size: int = BATCH_SIZE) -> Rotation:
    """Encrypt every secret and session of all projects with the first key.

    In transactions of ``batch_size`` rows: after an interruption, start it again. Secrets written meanwhile
    use the first key anyway.

    Raises:
        NoSecretKeyError: There are values to encrypt, but no key.
        BadSecretKeyError: One of the keys is invalid.
    """
    keys.check()
    done = Rotation()
    for kind, model in _KINDS:
        last: tuple[str, str] | None = ("", "")
        while last is not None:
            last = _rotate_batch(database, model, last, batch_size, partial(_rotate, keys, kind, done))
    return done


def unreadable(database: Database, keys: SecretKeys) -> Iterator[str]:
    """Yield a sentence for each secret and session that cannot be decrypted.

    Raises:
        NoSecretKeyError: There is one, but no key.
        BadSecretKeyError: One of the keys is invalid.
    """
    keys.check()
    for kind, model in _KINDS:
        with database.reading() as session:
            rows = session.scalars(select(model)).all()
        for row in rows:
            try:
                keys.open(_label(kind, row), row.sealed)
            except UnreadableSecretError as exc:
                yield str(exc)


def _rotate_batch(
    database: Database,
    model: type[SealedModel],
    after: tuple[str, str],
    size: int,
    rotate_one: Callable[[SealedModel], None],
) -> tuple[str, str] | None:
    """Process the rows after ``after``; return the key of the last one, None at the end."""
    key = tuple_(model.project_id, model.name)
    query = select(model).where(key > after).order_by(model.project_id, model.name).limit(size)
    with database.writing() as session:
        rows = session.scalars(query.with_for_update()).all()
        for row in rows:
            rotate_one(row)
        for project_id, names in _by_project(rows).items():
            what = f"{len(names)} {model.__tablename__} are encrypted with the first key"
            audit(
                session, project_id, DecisionKind.SECRETS_ROTATED, model.__tablename__, what, names=[*names]
            )
    return (rows[-1].project_id, rows[-1].name) if len(rows) == size else None


def _by_project(rows: Iterable[SealedModel]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for row in rows:
        found.setdefault(row.project_id, []).append(row.name)
    return found


def _rotate(keys: SecretKeys, kind: Sealed, done: Rotation, row: SealedModel) -> None:
    label = _label(kind, row)
    try:
        row.sealed = keys.seal(label, keys.open(label, row.sealed))
    except UnreadableSecretError as exc:
        done.unreadable.append(str(exc))
    else:
        done.counts[kind] += 1


def _label(kind: Sealed, row: SealedModel) -> Label:
    return Label(project_id=row.project_id, kind=kind, name=row.name)
