"""How long what has ended is kept, and what is erased with an owner.

Public names only, defined elsewhere: a program imports them from here.
"""

from holdfast.core.values.retention import Retention
from holdfast.engine.erasure import Erasure, Owned

__all__ = ["Erasure", "Owned", "Retention"]
