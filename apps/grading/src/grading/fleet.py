"""The grader's stages in a Celery fleet: `celery -A grading.fleet worker -Q holdfast.grading`.

It is set up by the same variables as `grading service`, and opens nothing when it is imported:
Celery forks, and connections do not survive that.
"""

from __future__ import annotations

import os
from typing import Final

from celery import Celery

from grading.config import GradingConfig
from grading.messages.topology import Topology
from grading.service import grader_app
from holdfast.workers import WorkerOptions

CONFIG: Final = GradingConfig.from_environment(os.environ)
app: Final = Celery("grading", broker=CONFIG.broker_url)
app.conf.update(
    worker_prefetch_multiplier=1, task_ignore_result=True, broker_connection_retry_on_startup=True
)
JOBS, GRADER = grader_app(CONFIG, database_url=os.environ.get("DATABASE_URL"))
BRIDGE: Final = JOBS.celery(
    app,
    exchange=Topology.of(CONFIG).celery_exchange,
    options=WorkerOptions(concurrency=1, lease=CONFIG.lease_s),
)
