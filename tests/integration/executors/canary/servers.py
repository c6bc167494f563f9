"""What ``agentic up`` starts, with a worker that logs all there is: ``python -m`` this, in a home."""

from __future__ import annotations

import asyncio
import sys
from dataclasses import replace

from agentic.core.services import ServiceSupervisor, nats_service, valkey_service
from agentic.core.settings import load_settings
from agentic.executors.workers.services import beat_service, flower_service, worker_service

READY = "all of it is ready"


def main() -> None:
    """Run until told to stop."""
    home = load_settings().home
    worker = worker_service(home)
    command = ["debug" if word == "info" else word for word in worker.command]
    services = [
        nats_service(home),
        valkey_service(home),
        replace(worker, command=command),
        beat_service(home),
        flower_service(home),
    ]

    def tell(_urls: object) -> None:
        sys.stdout.write(f"{READY}\n")
        sys.stdout.flush()

    asyncio.run(ServiceSupervisor(home, services).run_until_stopped(tell))


if __name__ == "__main__":
    main()
