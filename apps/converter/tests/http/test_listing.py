"""A page of conversions, and what storage is asked for it."""

import pytest

from apps.converter.tests.http.test_routes import send
from apps.converter.tests.system.stand_in import PDF_BYTES
from converter.storage.disk import DiskStorage
from converter.storage.errors import StorageFull


class Asked(DiskStorage):
    """Notes what it is asked for."""

    def __init__(self, folder, *, label):
        super().__init__(folder, label=label, min_free_bytes=0)
        self.questions = []

    def those_there(self, names):
        self.questions.append(set(names))
        return super().those_there(names)


@pytest.fixture
def uploads(tmp_path):
    return Asked(tmp_path / "uploads", label="uploads")


@pytest.fixture
def results(tmp_path):
    return Asked(tmp_path / "results", label="results")


def test_a_page_asks_each_storage_once_for_the_files_that_matter(visit, converter):
    ada = visit()
    converter.gateway.plays += [StorageFull("results", "no room")] * 2
    sent = [send(ada, PDF_BYTES + bytes([number])).json()["id"] for number in range(4)]
    converter.run()
    waiting = send(ada, PDF_BYTES + b"later").json()["id"]
    converter.uploads.questions.clear()
    converter.results.questions.clear()

    listed = {each["id"]: each["state"] for each in ada.get("/api/conversions").json()["items"]}

    assert sorted(listed[each] for each in sent) == ["complete"] * 2 + ["failed"] * 2
    assert listed[waiting] == "queued"
    assert [len(names) for names in converter.uploads.questions] == [2]
    assert [len(names) for names in converter.results.questions] == [2]


def test_a_page_without_files_that_matter_asks_nobody(visit, converter):
    ada = visit()
    send(ada)
    converter.uploads.questions.clear()

    assert len(ada.get("/api/conversions").json()["items"]) == 1
    assert converter.uploads.questions == converter.results.questions == []
