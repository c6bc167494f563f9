"""The Celery app: ``celery -A agentic.executors worker`` finds it here."""

from __future__ import annotations

from celery import Celery

from agentic.core.settings import Settings, load_settings
from agentic.executors.config import celery_settings


def make_app(settings: Settings) -> Celery:
    """Return a Celery app for the broker of ``settings``, configured as :func:`celery_settings` says."""
    made = Celery("agentic", set_as_current=False)
    made.config_from_object(celery_settings(settings))
    return made


app = make_app(load_settings())
"""The app of this process; :mod:`agentic.executors.tasks` holds its tasks."""

app.set_current()
app.conf.include = ("agentic.executors.tasks",)
