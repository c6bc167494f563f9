"""Celery settings: ours, then those in an importable ``celeryconfig``."""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType

from celery.app.defaults import SETTING_KEYS
from kombu import Queue

from agentic.core.settings import Settings
from agentic.executors.schedule import START_AGENT
from agentic.executors.workers.celery_config import own_module

QUEUES = ("agentic.default", "agentic.browser", "agentic.llm", "agentic.sys")
RUN_AGENT = "agentic.run_agent"
HOUR_S = 3600

_PLAIN = (str, int, float, dict, list, tuple, set, type(None))

DEFAULTS: Mapping[str, object] = {
    # A message is acknowledged when its task has ended. Whether it may run is decided by the execution's row
    # (one claim), so a second delivery is harmless and a lost one costs a retry, never a row.
    "task_acks_late": True,
    "task_acks_on_failure": True,
    "task_acks_on_timeout": True,
    "task_reject_on_worker_lost": False,
    "task_retry_on_worker_lost": False,
    "task_ignore_result": True,
    "task_serializer": "json",
    "accept_content": ["json"],
    "task_default_queue": "agentic.default",
    "task_queues": tuple(Queue(name, routing_key=name) for name in QUEUES),
    # Runs are routed under a name that ends in their platform, as "agentic.run_agent.web", so that a
    # celeryconfig can give one platform a queue of its own.
    "task_routes": {
        START_AGENT: {"queue": "agentic.sys"},
        # Work that needs a browser: few at a time, on workers that have one.
        f"{RUN_AGENT}.*.browser": {"queue": "agentic.browser"},
        f"{RUN_AGENT}*": {"queue": "agentic.default"},
    },
    "task_soft_time_limit": 6 * HOUR_S,
    "task_time_limit": 6 * HOUR_S + 60,
    "task_track_started": True,
    "task_send_sent_event": True,
    "worker_send_task_events": True,
    "worker_prefetch_multiplier": 1,
    "worker_max_tasks_per_child": 1000,
    "worker_max_memory_per_child": 512 * 1024,  # KiB
    "worker_soft_shutdown_timeout": 10.0,
    "worker_cancel_long_running_tasks_on_connection_loss": False,
    # Standard error belongs to structlog; Celery would wrap each of its lines in one of its own.
    "worker_redirect_stdouts": False,
    "beat_enable_remote_control": True,
    "beat_scheduler": "agentic.executors.beat:LedgerScheduler",
    "broker_connection_retry_on_startup": True,
    # A long outage of the broker, or a refusal (it is full, starts, is a replica), must not end a worker:
    # Celery stops after 100 tries, and takes a refusal for its own fault.
    "broker_connection_max_retries": None,
    "broker_channel_error_retry": True,
    "broker_transport_options": {
        # Redis delivers a message again after this time, finished or not: longer than any task.
        "visibility_timeout": 24 * HOUR_S,
        "unacked_restore_interval": 10,
        "unacked_restore_throttle": 1,
        "socket_timeout": 30,
        "socket_connect_timeout": 5,
        "health_check_interval": 25,
        "global_keyprefix": "agentic:",
    },
}


def celery_settings(settings: Settings) -> dict[str, object]:
    """Return the configuration of the Celery app.

    Packaged defaults first, then the broker of ``settings``, then the public names of the module
    ``celeryconfig`` if the current folder or the path has one. They are merged here because Celery's own
    ``add_defaults`` would override ``celeryconfig`` (seen with 5.7.0).

    Raises:
        SettingsError: The environment variable CELERY_CONFIG_MODULE names a missing module.
    """
    broker = {"broker_url": settings.broker} if settings.broker else {}
    return {**DEFAULTS, **broker, **_own_settings()}


def _own_settings() -> dict[str, object]:
    module = own_module()
    if module is None:
        return {}
    return {key: value for key, value in vars(module).items() if _is_setting(key, value)}


def _is_setting(name: str, value: object) -> bool:
    """Whether a name is a setting, not an import: a function, a class, another module."""
    if name.startswith("_") or isinstance(value, ModuleType):
        return False
    return name in SETTING_KEYS or isinstance(value, _PLAIN)
