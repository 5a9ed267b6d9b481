"""The gateway as a stand-in of the fault lab: real conversions, until it is set to fail."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Final
from urllib.parse import parse_qs, urlsplit

from converter.gateway.conversion import convert
from converter.gateway.errors import ConversionError
from converter.gateway.limits import Limits
from converter.gateway.problems import MEDIA_TYPE, problem_of
from holdfast.systems import Answer, Call

XML: Final = "application/xml"


def answer(call: Call) -> Answer:
    """Answer as `converter gateway` does."""
    address = urlsplit(call.path)
    if (call.method, address.path) == ("GET", "/health"):
        return Answer()
    if (call.method, address.path) != ("POST", "/convert"):
        return Answer(404)
    mapping = parse_qs(address.query).get("mapping", [""])[0]
    with tempfile.TemporaryDirectory(prefix="converter-") as folder:
        pdf = Path(folder) / "source.pdf"
        pdf.write_bytes(call.body)
        try:
            return Answer(body=convert(pdf, mapping, Limits()), content_type=XML)
        except ConversionError as error:
            problem = problem_of(error)
    told = {"status": problem.status, "code": problem.code, "detail": problem.detail}
    return Answer(problem.status, json.dumps(told).encode(), MEDIA_TYPE)
