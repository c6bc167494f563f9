"""Celery settings of this checkout; they win over the packaged ones (``agentic.executors.workers.config``).

``celery`` and ``agentic worker`` read this file from the current folder; copy it to where you work. The
broker is named elsewhere: by AGENTIC_BROKER_URL, or by a running ``agentic up``.

To run an agent each minute, use ``agentic schedules add``. Beat also fires what is named here, as any Celery
does::

    from agentic.executors.schedule import every

    beat_schedule = {"top stories": every(60, agent="top", project="default")}

To give a platform workers of its own (``agentic worker --queues agentic.browser``), write::

    task_routes = {"agentic.run_agent.web": {"queue": "agentic.browser"}}
"""

from __future__ import annotations

beat_schedule: dict[str, dict[str, object]] = {}
