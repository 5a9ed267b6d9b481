"""The converter's own gateway: real conversions of PDF to XML, without the internet.

`convert` makes the XML of a file in a child process with limits; `converter.gateway.app` serves it
over HTTP; `converter.gateway.xml_check` tells whether an answer of any gateway is XML to be kept.
"""

from converter.gateway.conversion import Engine, convert
from converter.gateway.errors import (
    ConversionError,
    EngineFailed,
    MappingUnknown,
    Reason,
    Refused,
    TimedOut,
)
from converter.gateway.limits import Limits

__all__ = [
    "ConversionError",
    "Engine",
    "EngineFailed",
    "Limits",
    "MappingUnknown",
    "Reason",
    "Refused",
    "TimedOut",
    "convert",
]
