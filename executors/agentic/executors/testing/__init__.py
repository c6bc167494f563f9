"""For the tests of plugins: fixtures that pytest finds by itself, and the contract of all platforms.

``pip install 'agentic-pipelines[testing]'`` is all it takes. The fixtures:

- ``run_agent``: runs an agent in this process, into a database of the test's own; see :class:`RunAgent`.
- ``agentic_database``: that database, with the tables of all installed plugins.
- ``agentic_site``: a server on loopback that says what the test wants it to; see :class:`Site`.
- ``agentic_nats``: the URL of a NATS server of the test's own.
- ``agentic_home``: a folder whose ``agentic up``, with broker, NATS and a worker, runs; see :class:`Home`.

``agentic_fakes`` comes with the fakes (``agentic-pipelines[local]``).
"""

from agentic.executors.testing.contract import PlatformContract
from agentic.executors.testing.homes import Home
from agentic.executors.testing.running import Ran, RunAgent
from agentic.executors.testing.sites import Site

__all__ = ["Home", "PlatformContract", "Ran", "RunAgent", "Site"]
