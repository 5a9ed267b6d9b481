"""Files from strangers: a clear answer within the limits, and a gateway that goes on."""

import pytest

from apps.converter.tests.gateway.conftest import MEMORY_MIB
from apps.converter.tests.gateway.hostile_files import CONVERTED, HOSTILE_FILES
from apps.converter.tests.gateway.pdf_maker import plain
from apps.converter.tests.gateway.schemas import texts, validated
from converter.gateway.limits import MEBIBYTE

STATUS = {"not_a_pdf": 415}


@pytest.mark.parametrize("name", HOSTILE_FILES)
def test_a_hostile_file_gets_a_clear_answer_and_the_next_file_is_converted(gateway, name):
    hostile = HOSTILE_FILES[name]
    answer = gateway.convert(hostile.make())
    following = gateway.convert(plain(["Still here"]))

    if answer.status_code == 200:
        validated(answer.content, "text")
        assert CONVERTED in hostile.outcomes
    else:
        problem = answer.json()
        assert problem["code"] in hostile.outcomes
        assert answer.status_code == problem["status"] == STATUS.get(problem["code"], 400)
        assert "\n" not in problem["detail"]
    assert texts(validated(following.content, "text"), "line") == ["Still here"]
    assert 0 < gateway.peak_bytes() < MEMORY_MIB * MEBIBYTE
    assert list(gateway.folder.iterdir()) == []


def test_entities_in_metadata_are_not_even_read(gateway):
    answer = gateway.convert(HOSTILE_FILES["metadata that laughs"].make(), "raw")

    assert "".join(texts(validated(answer.content, "raw"), "text")) == "Hello world"
