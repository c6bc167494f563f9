"""What Celery takes for a task that does nothing: ``python -m tests.bench.celery_tasks celery``."""

from __future__ import annotations

from tests.bench.measuring import main
from tests.bench.workers import tasks

if __name__ == "__main__":
    main({"celery": tasks}, dict)
