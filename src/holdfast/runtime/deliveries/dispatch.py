"""The providers of an application, how its workers use them, and who hears of that."""

from __future__ import annotations

from dataclasses import dataclass, field

from holdfast.runtime.deliveries.options import CourierOptions
from holdfast.runtime.deliveries.provider import Providers
from holdfast.runtime.events.signals import Signals


@dataclass(frozen=True, slots=True)
class Dispatch:
    """What couriers and reconcilers are made with, the same in every worker."""

    providers: Providers = field(default_factory=Providers)
    options: CourierOptions = field(default_factory=CourierOptions)
    signals: Signals = field(default_factory=Signals)
