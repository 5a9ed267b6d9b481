"""What needs a person: the one ranked list of the overview, the doctor, the API and alerts.

`ranked` is pure: it takes what was read, and says of each thing whose move it is and the one action
to take. `Needs` reads.
"""

from holdfast.engine.attention.entry import Action, Attention, Kind, Urgency
from holdfast.engine.attention.need import Need
from holdfast.engine.attention.needs import Needs, ranked

__all__ = ["Action", "Attention", "Kind", "Need", "Needs", "Urgency", "ranked"]
