"""A process that is killed while it notifies; its arguments are a point, and a command.

``claimed`` and ``sent``: it sends the outbox, and ends before or after the message is on its way.
``ending`` and ``ended``: it runs a command, and ends in the transaction that ends the execution, or after it.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from typing import Any, NoReturn
from unittest.mock import patch

from agentic.core.cli.main import main
from agentic.core.settings import load_settings
from agentic.executors.agents import ending, local
from agentic.executors.notifications.arrival import Sending, Target
from agentic.executors.notifications.channels import send_message
from agentic.executors.notifications.messages import NotificationMessage
from agentic.executors.notifications.noticing import notice_end
from agentic.executors.notifications.sending import NotificationSender
from agentic.mappers import Database


def die() -> NoReturn:
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError("it is dead")


async def dying(target: Target, message: NotificationMessage) -> Sending:
    if POINT == "sent":
        await send_message(target, message)
    die()


def send() -> None:
    settings = load_settings()
    asyncio.run(NotificationSender(Database.configured(settings), settings, dying).send_due())


def run_and_die() -> None:
    def noticed(*given: Any) -> None:
        notice_end(*given)
        die()

    async def notify(*_: object) -> None:
        die()

    sys.argv = ["agentic", *COMMAND]
    place, instead = (ending, noticed) if POINT == "ending" else (local, notify)
    with patch.object(place, "notice_end" if POINT == "ending" else "send_due", instead):
        main()


if __name__ == "__main__":
    _, POINT, *COMMAND = sys.argv
    (send if POINT in {"claimed", "sent"} else run_and_die)()
