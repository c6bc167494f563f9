"""For the tests of plugins: fixtures that pytest finds by itself, and contracts to be inherited.

``pip install 'agentic-pipelines[testing]'`` is all it takes. The fixtures:

- ``run_agent``: runs an agent in this process, into a database of the test's own; see :class:`RunAgent`.
- ``run_workflow``: runs a graph in this process, on the engine or durably; see :class:`RunWorkflow`.
- ``agentic_database``: that database, with the tables of all installed plugins.
- ``agentic_each_database``: the same on SQLite and, where there is a server, on PostgreSQL.
- ``agentic_secrets``: the secrets of its projects; see :class:`Secrets`.
- ``agentic_site``: a server on loopback that says what the test wants it to; see :class:`Site`.
- ``agentic_nats``: the URL of a NATS server of the test's own.
- ``agentic_home``: a folder whose ``agentic up``, with broker, NATS and a worker, runs; see :class:`Home`.

``agentic_fakes`` comes with the fakes (``agentic-pipelines[local]``).
"""

import pytest

# pytest does not find them by itself, as they are in a namespace.
pytest.register_assert_rewrite(
    *(
        f"agentic.executors.testing.{name}"
        for name in (
            "acting",
            "actor_contract",
            "contract",
            "endings",
            "executor_contract",
            "mapper_contract",
            "mapping",
        )
    )
)

from agentic.executors.testing.actor_contract import ActorContract, Failing  # noqa: E402 - rewritten first
from agentic.executors.testing.contract import PlatformContract  # noqa: E402
from agentic.executors.testing.executor_contract import ExecutorContract  # noqa: E402
from agentic.executors.testing.homes import Home  # noqa: E402
from agentic.executors.testing.mapper_contract import MapperContract, MapperSamples  # noqa: E402
from agentic.executors.testing.running import Ran, RunAgent  # noqa: E402
from agentic.executors.testing.secrets import Secrets  # noqa: E402
from agentic.executors.testing.sites import Site  # noqa: E402
from agentic.executors.testing.workflows import RunWorkflow  # noqa: E402

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
