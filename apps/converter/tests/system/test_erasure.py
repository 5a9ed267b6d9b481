"""Of an owner who is erased no file is left, and of others every file."""

from functools import partial

import pytest

from apps.converter.tests.system.stand_in import PDF_BYTES
from converter.erasure import erase_files
from converter.presentation import result_name


@pytest.fixture
def erasing(converter):
    """A converter whose files are erased with their owner."""
    files = partial(erase_files, uploads=converter.uploads, results=converter.results)
    converter.app.erasers = (files,)
    return converter


def names(folder) -> set[str]:
    return {path.name for path in folder.iterdir() if path.is_file()}


def test_uploads_and_results_of_an_erased_owner_go(erasing, tmp_path):
    for number in range(2):
        erasing.take(PDF_BYTES + bytes([65 + number]), owner="ada")
    kept = erasing.take(owner="bob").job
    erasing.run()
    waiting = erasing.take(PDF_BYTES + b"later", owner="ada").job
    preview = erasing.app.erase("ada", by="grace", dry_run=True)

    done = erasing.app.erase("ada", by="grace", cancel=True)

    assert waiting.id
    assert preview.files == done.files == {"uploads": 3, "results": 2}
    assert names(tmp_path / "results") == {result_name(kept.id)}
    assert names(tmp_path / "uploads") == {kept.payload["source"]}


def test_a_result_whose_conversion_is_gone_goes_too(erasing, tmp_path):
    done = erasing.take(owner="ada").job
    erasing.run()
    erasing.results.put(result_name(erasing.take(owner="bob").job.id), [b"<x/>"])
    erasing.app.erase("ada", by="grace", cancel=True)
    erasing.results.put(result_name(done.id), [b"<late/>"])

    again = erasing.app.erase("ada", by="grace")

    assert again.files == {"results": 1}
    assert len(names(tmp_path / "results")) == 1
