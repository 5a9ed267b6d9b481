import pytest

from apps.grading.tests.recordings import SHORT_SPEECH, silence, write_wav
from grading.audio import Decoded, DecodeLimits, decode


@pytest.fixture(scope="session")
def short_speech(tmp_path_factory) -> Decoded:
    """Ten seconds of speech, decoded."""
    return decode(SHORT_SPEECH, tmp_path_factory.mktemp("speech"), limits=DecodeLimits())


@pytest.fixture
def silent(tmp_path) -> Decoded:
    source = write_wav(tmp_path / "silent.wav", silence(3))
    return decode(source, tmp_path / "decoded", limits=DecodeLimits())
