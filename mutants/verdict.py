"""What became of a planted fault."""

from dataclasses import dataclass
from typing import Literal

from mutants.fault import Fault


@dataclass(frozen=True)
class Verdict:
    """What became of a planted fault."""

    fault: Fault
    outcome: Literal["caught", "survived", "error"]
    seconds: float
    because: str

    def __str__(self) -> str:
        return f"{self.outcome:<8} {self.seconds:6.1f} s  {self.fault.name}\n{'':20}{self.because}"
