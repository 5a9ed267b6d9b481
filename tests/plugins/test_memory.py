"""Files of tests are in memory only where they fit."""

from tests.plugins.memory import free_memory_bytes, has_room


def test_where_there_is_no_such_place_there_is_no_room(tmp_path):
    assert not has_room(tmp_path / "absent", 0)


def test_there_is_no_more_room_than_memory(tmp_path):
    assert has_room(tmp_path, 0)
    assert not has_room(tmp_path, free_memory_bytes() * 2)
