"""Places of stacks are remembered, but never longer than it is known what is secret."""

from types import FrameType, TracebackType

from holdfast.classify.facts.places import MAX_LENGTH, places_along
from holdfast.secrecy import keep_secret

SECRET = "Vq81-harbour-Xk20z"


def frame_of(name: str, file: str = "shop.py") -> FrameType:
    namespace: dict = {}
    source = f"import sys\ndef {name}(): return sys._getframe()"
    exec(compile(source, file, "exec"), namespace)
    return namespace[name]()


def place_of(frame: FrameType, line: int) -> str:
    [place] = places_along(TracebackType(None, frame, 0, line), most=10)
    return place


def test_a_place_is_its_file_line_and_function():
    assert place_of(frame_of("pay"), 7) == "  shop.py:7:pay"


def test_places_of_one_function_differ_by_their_line():
    frame = frame_of("pay")
    assert place_of(frame, 7) != place_of(frame, 8)


def test_a_secret_in_a_path_is_hidden_as_soon_as_it_is_known():
    frame = frame_of("pay", f"/srv/{SECRET}/shop.py")
    assert SECRET in place_of(frame, 7)

    keep_secret([SECRET])

    assert SECRET not in place_of(frame, 7)


def test_a_function_that_came_to_be_where_another_was_is_not_taken_for_it():
    for number in range(2_000):
        assert place_of(frame_of(f"pay_{number}"), 1) == f"  shop.py:1:pay_{number}"


def test_a_path_without_end_is_cut():
    assert len(place_of(frame_of("pay", "x" * 5_000), 7)) <= MAX_LENGTH


def test_no_more_places_are_named_than_asked_for():
    traceback = None
    for line in range(1, 6):
        traceback = TracebackType(traceback, frame_of("pay"), 0, line)

    assert places_along(traceback, most=2) == ["  shop.py:5:pay", "  shop.py:4:pay"]
