"""Lets a Celery fleet run holdfast's stages.

The store owns time, attempts, backoff, breakers, deadlines and dead letters; the broker only says
which jobs are due.
"""

from holdfast.bridges.celery.bridge import CeleryBridge
from holdfast.bridges.celery.carrier import CeleryCarrier
from holdfast.bridges.celery.task import DurableTask

__all__ = ["CeleryBridge", "CeleryCarrier", "DurableTask"]
