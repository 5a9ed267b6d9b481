"""The console: pages for operators, rendered here, live while they are looked at.

`mount_console` adds it to an API that `create_api` made. It works without scripts, asks nothing of
other hosts, and everything it does goes through the engine's own verbs.
"""

from holdfast.console.mounting import mount_console
from holdfast.console.rendering.screens import Screen

__all__ = ["Screen", "mount_console"]
