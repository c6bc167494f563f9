"""Keeps embedded servers and other long-running processes alive beside us, and ends them with us."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentic.core.lazily import loaded

if TYPE_CHECKING:
    from agentic.core.services.access import ServerAccess, server_access
    from agentic.core.services.errors import (
        HomeInUseError,
        MissingServerError,
        ServiceError,
        ServiceFailedError,
    )
    from agentic.core.services.nats import nats_service
    from agentic.core.services.ports import free_port
    from agentic.core.services.service import ReadyCheck, Service
    from agentic.core.services.supervisor import ServiceSupervisor
    from agentic.core.services.valkey import valkey_service

__all__ = [
    "HomeInUseError",
    "MissingServerError",
    "ReadyCheck",
    "ServerAccess",
    "Service",
    "ServiceError",
    "ServiceFailedError",
    "ServiceSupervisor",
    "free_port",
    "nats_service",
    "server_access",
    "valkey_service",
]

_HOMES = {
    "HomeInUseError": "errors",
    "MissingServerError": "errors",
    "ReadyCheck": "service",
    "ServerAccess": "access",
    "Service": "service",
    "ServiceError": "errors",
    "ServiceFailedError": "errors",
    "ServiceSupervisor": "supervisor",
    "free_port": "ports",
    "nats_service": "nats",
    "server_access": "access",
    "valkey_service": "valkey",
}


def __getattr__(name: str) -> object:
    # Loaded at the first use of one of its modules: loading all would delay every command.
    return loaded(__name__, _HOMES, name)
