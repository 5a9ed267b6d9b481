"""Secrets by name: who is asked, what is remembered, and that it is hidden first."""

from holdfast.secrets.providers import Environment, Folder, SecretProvider, SecretUnavailable
from holdfast.secrets.secrets import Secrets

__all__ = ["Environment", "Folder", "SecretProvider", "SecretUnavailable", "Secrets"]
