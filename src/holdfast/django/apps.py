"""What `INSTALLED_APPS` names; there are no models, so that Django's migrations are its own."""

from django.apps import AppConfig


class HoldfastConfig(AppConfig):  # type: ignore[misc]  # Django has no types
    """The Django application that brings `manage.py holdfast`."""

    name = "holdfast.django"
    label = "holdfast"
    verbose_name = "holdfast"
