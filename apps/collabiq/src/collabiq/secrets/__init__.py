"""Secrets by name: from Infisical, or from where they were last found."""

from collabiq.secrets.guarded import GuardedSource
from collabiq.secrets.infisical import InfisicalFailure, InfisicalSettings, InfisicalSource
from collabiq.secrets.provider import Found, MissingSecrets, SecretProvider, env_file_values

__all__ = [
    "Found",
    "GuardedSource",
    "InfisicalFailure",
    "InfisicalSettings",
    "InfisicalSource",
    "MissingSecrets",
    "SecretProvider",
    "env_file_values",
]
