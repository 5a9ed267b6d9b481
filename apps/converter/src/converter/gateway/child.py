"""The child process of a conversion: `python -m converter.gateway.child ORDER`."""

from __future__ import annotations

import os
import sys

from converter.gateway.confinement import confine
from converter.gateway.engines import read
from converter.gateway.errors import Reason, Refused
from converter.gateway.mappings import MAPPINGS
from converter.gateway.order import Order, exit_code_of
from converter.gateway.xml_writer import XmlWriter


def main(text: str) -> int:
    """Do what was ordered and return the exit code: 0, or the one of the reason against it."""
    order = Order.from_json(text)
    confine(order.limits)
    try:
        document = read(order)
        with order.result.open("wb") as out:
            MAPPINGS[order.mapping](document, XmlWriter(out, max_bytes=order.limits.max_xml_bytes))
    except Refused as refused:
        return exit_code_of(refused.reason)
    except MemoryError:
        # An orderly exit might need memory, too.
        os._exit(exit_code_of(Reason.TOO_COSTLY))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
