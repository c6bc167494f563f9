"""For the tests of plugins: fixtures that pytest finds by itself, and contracts to subclass.

``pip install 'agentic-pipelines[testing]'`` is enough. The fixtures:

- ``run_agent``: runs an agent in this process, into the test's own database; see :class:`RunAgent`.
- ``run_workflow``: runs a graph in this process, on the engine or durably; see :class:`RunWorkflow`.
- ``agentic_database``: that database, with the tables of all installed plugins.
- ``agentic_each_database``: the same on SQLite and, where there is a server, on PostgreSQL.
- ``agentic_secrets``: the secrets of its projects; see :class:`Secrets`.
- ``agentic_site``: a server on loopback with responses set by the test; see :class:`Site`.
- ``agentic_nats``: the URL of the test's own NATS server.
- ``agentic_home``: a folder where ``agentic up`` runs, with broker, NATS and a worker; see :class:`Home`.

``agentic_fakes`` comes with the fakes (``agentic-pipelines[local]``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from agentic.core.lazily import loaded

if TYPE_CHECKING:
    from agentic.executors.testing.actor_contract import ActorContract, Failing
    from agentic.executors.testing.contract import PlatformContract
    from agentic.executors.testing.executor_contract import ExecutorContract
    from agentic.executors.testing.homes import Home
    from agentic.executors.testing.mapper_contract import MapperContract, MapperSamples
    from agentic.executors.testing.running import Ran, RunAgent
    from agentic.executors.testing.secrets import Secrets
    from agentic.executors.testing.sites import Site
    from agentic.executors.testing.workflows import RunWorkflow

__all__ = [
    "ActorContract",
    "ExecutorContract",
    "Failing",
    "Home",
    "MapperContract",
    "MapperSamples",
    "PlatformContract",
    "Ran",
    "RunAgent",
    "RunWorkflow",
    "Secrets",
    "Site",
]

_HOMES = {
    "ActorContract": "actor_contract",
    "ExecutorContract": "executor_contract",
    "Failing": "actor_contract",
    "Home": "homes",
    "MapperContract": "mapper_contract",
    "MapperSamples": "mapper_contract",
    "PlatformContract": "contract",
    "Ran": "running",
    "RunAgent": "running",
    "RunWorkflow": "workflows",
    "Secrets": "secrets",
    "Site": "sites",
}

# pytest does not find them by itself, because they are in a namespace package.
pytest.register_assert_rewrite(
    *(f"{__name__}.{name}" for name in ("acting", "endings", "mapping", *_HOMES.values()))
)


def __getattr__(name: str) -> object:
    # pytest loads the fixtures, and so this package, in every project: the whole would take a second.
    return loaded(__name__, _HOMES, name)
