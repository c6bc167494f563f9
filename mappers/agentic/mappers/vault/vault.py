"""The secrets of projects: stored encrypted, or from the environment."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence

from pydantic import SecretStr
from sqlalchemy import delete, func, or_, select
from sqlalchemy.orm import Session

from agentic.core.actors import UnknownSecretError
from agentic.core.audit import DecisionKind
from agentic.core.masking import remember_secrets
from agentic.core.secret_names import folded_name, secret_name_fault
from agentic.core.threads import in_thread
from agentic.mappers.audit import audit
from agentic.mappers.database.database import Database
from agentic.mappers.tables.columns import utc_now
from agentic.mappers.tables.vault import SecretModel, SessionModel
from agentic.mappers.vault.environment import given_secret
from agentic.mappers.vault.errors import SecretNameError
from agentic.mappers.vault.keys import Label, SecretKeys
from agentic.mappers.vault.rows import put_row

TEXT, LOGIN = "text", "login"


class SqlSecrets:
    """The secrets of one project. Implements :class:`agentic.core.actors.SecretStore`.

    The environment comes first (:mod:`agentic.mappers.vault.environment`), then the table. Names that differ
    only in case are the same.

    Args:
        database: Migrated.
        project_id: Owns the secrets.
        keys: For encryption.
        environment: Where to look first; by default the environment of this process.
    """

    def __init__(
        self,
        database: Database,
        project_id: str,
        keys: SecretKeys,
        *,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self._database = database
        self._project_id = project_id
        self._keys = keys
        self._environment = os.environ if environment is None else environment

    async def secret(self, name: str) -> SecretStr:
        """Return a secret; logs of this process mask it from now on.

        Raises:
            SecretNameError: No secret can have that name.
            UnknownSecretError: It does not exist.
            NoSecretKeyError: It exists, but no key does.
            UnreadableSecretError: It exists, but no key fits.
        """
        check_name(name)
        found = await in_thread(self._find, name)
        remember_secrets(found)
        return SecretStr(found)

    def _find(self, name: str) -> str:
        with self._database.reading() as session:
            given = given_secret(session, self._project_id, name, self._environment)
            found = None if given.value is not None else _find(session, self._project_id, name)
        if given.value is not None:
            return given.value
        if found is None:
            raise UnknownSecretError(name, reason=given.refusal)
        return self._keys.open(secret_label(found), found.sealed)


def set_secret(session: Session, project_id: str, keys: SecretKeys, name: str, value: str) -> str:
    """Store a secret, replace any earlier one with that name, and return its kind.

    Raises:
        SecretNameError: ``name`` is not a valid name.
        NoSecretKeyError: The key to encrypt with is missing.
    """
    check_name(name)
    found = _find(session, project_id, name)
    kept_name = found.name if found is not None else name
    kind, now = _kind_of(value), utc_now()
    sealed = keys.seal(Label(project_id=project_id, kind="secret", name=kept_name), value)
    row = {
        "project_id": project_id,
        "name": kept_name,
        "kind": kind,
        "created_at": now,
        "updated_at": now,
        "sealed": sealed,
    }
    put_row(session, SecretModel, row, keep=["created_at"])
    change = DecisionKind.SECRET_CREATED if found is None else DecisionKind.SECRET_CHANGED
    what = f"secret {kept_name} is {'stored' if found is None else 'replaced'}"
    audit(session, project_id, change, kept_name, what, kind_of_secret=kind)
    return kind


def list_secrets(session: Session, project_id: str) -> Sequence[SecretModel]:
    """Return the secrets of that project by name."""
    query = select(SecretModel).where(SecretModel.project_id == project_id)
    return session.scalars(query.order_by(SecretModel.name)).all()


def missing_secrets(session: Session, project_id: str, names: Iterable[str]) -> list[str]:
    """Return the ``names`` that are neither in the environment of this process nor in the table."""
    stored = {folded_name(secret.name) for secret in list_secrets(session, project_id)}
    return [
        name for name in names if folded_name(name) not in stored and not _is_given(session, project_id, name)
    ]


def list_sessions(session: Session, project_id: str) -> Sequence[SessionModel]:
    """Return the sessions of that project by name."""
    query = select(SessionModel).where(SessionModel.project_id == project_id)
    return session.scalars(query.order_by(SessionModel.name)).all()


def remove_secret(session: Session, project_id: str, name: str) -> None:
    """Remove a secret, and the session stored under its name.

    Raises:
        UnknownSecretError: Neither exists.
    """
    wanted = folded_name(name)
    secrets = delete(SecretModel).where(
        SecretModel.project_id == project_id, func.lower(SecretModel.name) == wanted
    )
    kept = func.lower(SessionModel.name)
    sessions = delete(SessionModel).where(
        SessionModel.project_id == project_id,
        or_(kept == wanted, kept.startswith(f"{wanted}/", autoescape=True)),
    )
    gone = [
        *session.scalars(secrets.returning(SecretModel.name)),
        *session.scalars(sessions.returning(SessionModel.name)),
    ]
    if not gone:
        raise UnknownSecretError(name)
    what = f"secret {name} is removed, and the sessions under its name"
    audit(session, project_id, DecisionKind.SECRET_REMOVED, name, what, removed=[*gone])


def secret_label(row: SecretModel) -> Label:
    """Return the label of a row's sealed secret."""
    return Label(project_id=row.project_id, kind="secret", name=row.name)


def check_name(name: str) -> None:
    """Refuse a name that no secret can have.

    Raises:
        SecretNameError: It is one.
    """
    if fault := secret_name_fault(name):
        raise SecretNameError(name, fault)


def _is_given(session: Session, project_id: str, name: str) -> bool:
    return given_secret(session, project_id, name, os.environ).value is not None


def _find(session: Session, project_id: str, name: str) -> SecretModel | None:
    named = func.lower(SecretModel.name) == folded_name(name)
    query = select(SecretModel).where(SecretModel.project_id == project_id, named)
    return session.scalars(query.order_by(SecretModel.name != name, SecretModel.name)).first()


def _kind_of(value: str) -> str:
    """Distinguish logins for ``authenticate`` from other texts."""
    try:
        data = json.loads(value)
    except (ValueError, RecursionError):
        return TEXT
    return LOGIN if isinstance(data, dict) and "strategy" in data else TEXT
