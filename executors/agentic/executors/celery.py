"""The Celery app: ``celery -A agentic.executors worker`` finds it here."""

from __future__ import annotations

from typing import Any

from celery import Celery
from celery.app.amqp import AMQP, task_message

from agentic.core.settings import Settings, load_settings
from agentic.executors.workers.config import celery_settings


class ShownAMQP(AMQP):
    """Reports a sent task under the same name as its worker.

    Celery's ``task-sent`` has the name of the task itself. It may reach Flower after the task has ended, and
    would then replace the shown name.
    """

    def as_task_v2(self, *args: Any, **options: Any) -> task_message:  # noqa: ANN401 - as Celery has them
        """Return the message of a task from Celery, and its event with the shown name."""
        message = super().as_task_v2(*args, **options)
        shown = message.headers["shadow"]
        if message.sent_event is not None and shown:
            message.sent_event["name"] = shown
        return message


def make_app(settings: Settings) -> Celery:
    """Return a Celery app for the broker of ``settings``, configured by :func:`celery_settings`."""
    made = Celery("agentic", set_as_current=False, amqp=ShownAMQP)
    made.config_from_object(celery_settings(settings))
    return made


app = make_app(load_settings())
"""The app of this process; :mod:`agentic.executors.tasks` holds its tasks."""

app.set_current()
app.conf.include = ("agentic.executors.tasks",)
