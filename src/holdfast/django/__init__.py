"""Runs Django's tasks as jobs: the backend for `TASKS`, and `manage.py holdfast`.

    INSTALLED_APPS = [..., "holdfast.django"]
    TASKS = {"default": {"BACKEND": "holdfast.django.Backend"}}

It serves `django.tasks`, which Django has had since 6.0, and the package `django_tasks` before.
"""

from holdfast.django.applications import application
from holdfast.django.backend import Backend

__all__ = ["Backend", "application"]
