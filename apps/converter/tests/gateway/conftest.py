from collections.abc import Iterator

import pytest

from apps.converter.tests.gateway.hostile_files import MAX_PAGES, MAX_XML_BYTES
from apps.converter.tests.gateway.running_gateway import RunningGateway, running_gateway
from converter.gateway.conversion import Engine, pdftohtml

MEMORY_MIB = 256
WALL_S = 40


@pytest.fixture(scope="session", params=[Engine.POPPLER, Engine.PDFMINER])
def engine(request: pytest.FixtureRequest) -> Engine:
    """Each engine in turn; poppler's program is not there on every machine."""
    if request.param is Engine.POPPLER and pdftohtml() is None:
        pytest.skip("pdftohtml is not installed (Debian: poppler-utils)")
    return request.param


@pytest.fixture
def any_engine() -> Engine:
    """An engine, where it does not matter which."""
    return Engine.AUTO


@pytest.fixture(scope="session")
def gateway(engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningGateway]:
    """A gateway with narrow limits, shared by tests: whatever they send, it has to stay up."""
    with running_gateway(
        tmp_path_factory.mktemp("gateway"),
        engine,
        *("--cpu-s", "2", "--wall-s", str(WALL_S), "--memory-mib", str(MEMORY_MIB)),
        *("--max-pages", str(MAX_PAGES), "--max-xml-bytes", str(MAX_XML_BYTES)),
        *("--max-pdf-bytes", str(4 * 1024 * 1024), "--concurrency", "2"),
    ) as running:
        yield running
