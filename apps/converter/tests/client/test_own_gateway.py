"""The client and the gateway that ships with the converter, as processes of their own."""

from collections.abc import Iterator
from xml.etree import ElementTree as ET

import pytest

from apps.converter.tests.client.test_convert import REFUSED, failed
from apps.converter.tests.gateway.pdf_maker import needs_a_password, plain
from apps.converter.tests.gateway.running_gateway import running_gateway
from converter.gateway.conversion import Engine
from converter.gateway_client import GatewayClient


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GatewayClient]:
    with running_gateway(
        tmp_path_factory.mktemp("gateway"), Engine.AUTO, "--max-pdf-bytes", "1000000"
    ) as running:
        yield GatewayClient(str(running.client.base_url).rstrip("/"), timeout_s=50.0)


@pytest.mark.parametrize("mapping", ["text", "layout", "raw"])
def test_a_pdf_becomes_xml(convert, own, storage, mapping):
    storage.put("source.pdf", [plain(["Invoice No. 17"])])

    document = ET.fromstring(convert(own, mapping))

    assert "Invoice No. 17" in "".join(document.itertext())


REFUSALS = {
    "mapping": (
        "INVALID_MAPPING",
        plain(["a"]),
        "nonsense",
        406,
        "There is no mapping 'nonsense'; there are",
    ),
    "password": (
        "PDF_ENCRYPTED",
        needs_a_password(),
        "text",
        400,
        "The PDF is encrypted: it needs a password.",
    ),
    "cut off": ("PDF_TRUNCATED", plain(["a"])[:200], "text", 400, "The PDF has no end: it was cut"),
    "scanned": ("NO_TEXT", plain([]), "text", 400, "The PDF has no text: its pages are blank or"),
    "kind": ("NOT_A_PDF", b"GIF89a", "text", 415, "The file is not a PDF."),
    # That the gateway takes less than uploads may have is for its operator to correct.
    "size": ("GW_4XX", b"%PDF-1.7\n" * 200_000, "text", 413, "The file has more than 1000000"),
}


@pytest.mark.parametrize("case", REFUSALS)
def test_a_refusal_is_told_with_its_reason(convert, own, storage, case):
    error_class, content, mapping, status, line = REFUSALS[case]
    storage.put("source.pdf", [content])

    failure = failed(lambda client: convert(client, mapping), own)

    assert (failure.error_class, failure.http_status) == (error_class, status)
    assert failure.user_error is (error_class != "GW_4XX")
    assert failure.message.startswith(f"{REFUSED} {line}")


def test_the_gateway_says_that_it_is_well(own):
    own.probe()
