"""Settings of a small shop: its database is also where its jobs are."""

import os
from typing import Any
from urllib.parse import unquote, urlsplit

import django


def database(url: str) -> dict[str, Any]:
    """Return the settings of the database at a URL."""
    parts = urlsplit(url)
    if parts.scheme == "sqlite":
        return {
            "ENGINE": "django.db.backends.sqlite3",
            "NAME": parts.path.removeprefix("/"),
            # A transaction that reads first and then writes would be refused when others write.
            "OPTIONS": {"transaction_mode": "IMMEDIATE"},
        }
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": unquote(parts.path.removeprefix("/")),
        "USER": unquote(parts.username or ""),
        "PASSWORD": unquote(parts.password or ""),
        "HOST": unquote(parts.hostname or ""),
        "PORT": parts.port or "",
    }


SECRET_KEY = os.environ.get("SECRET_KEY", "for-trying-it-out-only")
ALLOWED_HOSTS = ["localhost", "127.0.0.1", "testserver"]
ROOT_URLCONF = "shop.urls"
USE_TZ = True
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

INSTALLED_APPS = ["holdfast.django", "shop"]
if django.VERSION < (6,):
    INSTALLED_APPS.append("django_tasks")

DATABASES = {"default": database(os.environ.get("DATABASE_URL", "sqlite:///shop.db"))}
TASKS = {"default": {"BACKEND": "holdfast.django.Backend", "QUEUES": ["default", "reports"]}}
