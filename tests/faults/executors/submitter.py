"""Submits a run of :func:`flows.short`, in a process of its own: ``python -m ... KEY``."""

from __future__ import annotations

import sys

from agentic.core.settings import load_settings
from agentic.executors import RunClient
from agentic.executors.durable.runs.service import Submission

with RunClient(load_settings(dispatcher="celery")) as client:
    client.submit("tests.faults.executors.flows:short", [0], Submission(idempotency_key=sys.argv[1]))
