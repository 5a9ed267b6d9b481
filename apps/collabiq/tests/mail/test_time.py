"""Reading and cleaning takes time in proportion to the mail, whatever stands in it."""

import gc
import time
from collections.abc import Callable

from collabiq.mail import clean, parse_mail

MEGABYTE = 1_000_000
LARGE = 60_000
TINY_S = 0.001
THREAD_LINES = 5_000
ENOUGH_S = 0.2
FOUR_TIMES_MORE = 4
"""Of input; what grows with the square takes sixteen times as long."""
LINEAR = 10

TEXTS: dict[str, str] = {
    "sentences": "소리담과 서하백화점이 11월에 만나서 pilot을 합니다. " * 3 + "\n",
    "one line": "가나다 abc wrote ",
    "dashes": "-",
    "spaces": " ",
    "quotes": "> quoted line of a long thread\n",
    "headings": "On Mon, Nov 3, 2025 Emma <e@x.example> wrote:\n> a\n",
    "half headings": "On Mon, Nov 3, 2025 Emma\n",
    "fields": "From: a\nTo: b\n\n",
    "contacts": "Tel: 02-555-0100\n",
    "delimiters": "--\n\n",
    "closings": "Best regards,\n\n",
    "forwards": "---------- Forwarded message ---------\nFrom: a\n\n",
    "rules": "____________\n",
    "at signs": "a.a.a.a@",
    "digits": "010-",
}
HTML: dict[str, str] = {
    "tags": "<b>a</b>",
    "open tags": "<a",
    "open comments": "<!--",
    "open quotes": '<a b="',
    "quoted ends": "<a b='>",
    "scripts": "<script>",
    "hidden": "<div style='display:none'>",
    "styles": "<p style=' ",
    "ampersands": "&",
    "cells": "<td>",
    "blockquotes": "<blockquote>",
}


def seconds(run: Callable[[], object]) -> float:
    """How long it takes of this process's own time, at best."""
    found = []
    gc.disable()
    try:
        for _ in range(2):
            begun = time.process_time()
            run()
            found.append(time.process_time() - begun)
    finally:
        gc.enable()
    return min(found)


def filled(piece: str, length: int) -> str:
    return piece * (length // len(piece) + 1)


def html_mail(markup: str) -> bytes:
    return b"Subject: s\r\nContent-Type: text/html; charset=utf-8\r\n\r\n" + markup.encode()


def read_html(markup: str) -> Callable[[], object]:
    raw = html_mail(markup)
    return lambda: parse_mail(raw)


def out_of_proportion(
    pieces: dict[str, str], run_of: Callable[[str], Callable[[], object]]
) -> dict:
    """Which pieces, repeated, take far longer when there is four times as much of them."""
    found = {}
    for name, piece in pieces.items():
        small, large = (
            seconds(run_of(filled(piece, length))) for length in (LARGE // FOUR_TIMES_MORE, LARGE)
        )
        if large > LINEAR * max(small, TINY_S):
            found[name] = (small, large)
    return found


def test_cleaning_takes_time_in_proportion():
    assert out_of_proportion(TEXTS, lambda text: lambda: clean(text)) == {}


def test_reading_html_takes_time_in_proportion():
    assert out_of_proportion(HTML, read_html) == {}


def test_a_mail_of_a_megabyte_is_cleaned_within_200_ms():
    text = filled(TEXTS["sentences"], MEGABYTE // 2)

    assert len(text.encode()) > MEGABYTE
    assert seconds(lambda: clean(text)) < ENOUGH_S


def test_a_thread_of_5000_lines_is_cleaned_within_200_ms():
    lines = [
        f"{'>' * (number // 500)} line {number} of a thread about the pilot with 서하백화점."
        for number in range(THREAD_LINES)
    ]
    text = "\n".join(["The answer is yes.", "", *lines])

    assert seconds(lambda: clean(text)) < ENOUGH_S


def test_words_in_a_header_are_decoded_in_time_in_proportion():
    def run(count: int) -> float:
        raw = b"Subject: " + b"=?utf-8?B?7IaM?= " * count + b"\r\n\r\nx"
        return seconds(lambda: parse_mail(raw))

    assert run(3_000) < LINEAR * max(run(750), TINY_S)


def test_parts_are_found_in_time_in_proportion():
    def run(count: int) -> float:
        top = b"Subject: s\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n"
        raw = top + b"--bx\r\n" * count + b"x\n--b"
        return seconds(lambda: parse_mail(raw))

    assert run(80_000) < LINEAR * max(run(20_000), TINY_S)
