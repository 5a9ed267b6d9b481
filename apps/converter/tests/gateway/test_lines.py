"""Which fragments are one line."""

from converter.gateway.document import Font, Fragment
from converter.gateway.lines import lines_of

FONT = Font("Helvetica", 10)


def at(left: float, top: float, text: str, *, width: float = 50, height: float = 10) -> Fragment:
    return Fragment(left=left, top=top, width=width, height=height, font=FONT, text=text)


def texts(*fragments: Fragment) -> list[str]:
    return [line.text for line in lines_of(fragments)]


def test_a_gap_reads_as_a_space_and_none_does_not():
    assert texts(at(0, 0, "in"), at(50, 0, "voice")) == ["invoice"]
    assert texts(at(0, 0, "an"), at(55, 0, "invoice")) == ["an invoice"]


def test_white_space_is_single():
    assert texts(at(0, 0, "  a \t"), at(60, 0, "\u00a0 b  ")) == ["a b"]


def test_what_is_lower_is_another_line():
    assert texts(at(0, 0, "one"), at(60, 11, "two")) == ["one", "two"]


def test_a_little_lower_is_the_same_line():
    assert texts(at(0, 0, "one"), at(60, 3, "two")) == ["one two"]


def test_what_covers_the_other_is_another_line():
    assert texts(at(0, 0, "one"), at(0, 0, "two")) == ["one", "two"]


def test_a_line_is_read_from_left_to_right_in_whichever_order_it_was_found():
    assert texts(at(60, 0, "two"), at(0, 0, "one")) == ["one two"]


def test_empty_fragments_make_no_line():
    assert texts(at(0, 0, " "), at(0, 20, "\t\u00a0")) == []


def test_a_line_is_as_large_as_its_fragments_together():
    [line] = lines_of([at(10, 5, "one"), at(70, 3, "two", width=20, height=14)])

    assert (line.left, line.top, line.width, line.height) == (10, 3, 80, 14)
