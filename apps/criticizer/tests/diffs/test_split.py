"""Diffs that are split are still diffs, and nothing is lost."""

import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from criticizer.diffs import parse_diff, split_diff
from criticizer.diffs.split import MIN_PART_BYTES

LINES = st.lists(
    st.tuples(
        st.sampled_from(["+", "-", " "]),
        st.text(st.characters(exclude_characters="\n\r", exclude_categories=["Cs"]), max_size=300),
    ),
    min_size=1,
    max_size=60,
)
FILES = st.lists(st.lists(LINES, min_size=1, max_size=4), min_size=1, max_size=6)


def diff_of(files):
    """A diff with these hunks, as Git would write it."""
    text = []
    for number, hunks in enumerate(files):
        text += [f"diff --git a/f{number} b/f{number}", f"--- a/f{number}", f"+++ b/f{number}"]
        old = new = 1
        for lines in hunks:
            old_count = sum(mark != "+" for mark, _ in lines)
            new_count = sum(mark != "-" for mark, _ in lines)
            text.append(
                f"@@ -{old - (not old_count)},{old_count} +{new - (not new_count)},{new_count} @@"
            )
            text += [f"{mark}{content}" for mark, content in lines]
            old, new = old + old_count + 10, new + new_count + 10
    return "".join(f"{line}\n" for line in text)


def added_in(files):
    return [(file.path, line) for file in files for line in file.added]


def removed_in(files):
    return [(file.path, line) for file in files for line in file.removed]


def is_taken_by_git(diff):
    command = ["git", "apply", "--numstat", "-"]
    ended = subprocess.run(command, input=diff.encode(), capture_output=True, check=False)
    return ended.returncode == 0


@given(files=FILES, max_bytes=st.integers(MIN_PART_BYTES, 20_000))
def test_nothing_is_lost_and_no_part_is_larger_than_it_may_be(files, max_bytes):
    whole = parse_diff(diff_of(files))
    parts = split_diff(whole, max_bytes=max_bytes)
    read = [parse_diff(part.text) for part in parts]

    assert all(len(part.text.encode()) <= max_bytes for part in parts)
    assert [added for files in read for added in added_in(files)] == added_in(whole)
    assert [removed for files in read for removed in removed_in(files)] == removed_in(whole)
    assert read == [list(part.files) for part in parts]


@pytest.mark.parametrize("lines", [40, 4_000])
def test_git_takes_each_part(lines):
    new = [[("+", f"line {number} of a new file") for number in range(lines)]]
    mixed = [[(" +-"[number % 3], f"line {number}") for number in range(lines)]] * 2
    diff = diff_of([mixed, mixed]) + (
        f"diff --git a/n b/n\nnew file mode 100644\n--- /dev/null\n+++ b/n\n@@ -0,0 +1,{lines} @@\n"
        + "".join(f"+{text}\n" for _, text in new[0])
        + "\\ No newline at end of file\n"
    )
    parts = split_diff(parse_diff(diff), max_bytes=8_192)

    assert len(parts) > (1 if lines > 100 else 0)
    assert all(is_taken_by_git(part.text) for part in parts)


def test_files_that_fit_stay_whole():
    files = parse_diff(diff_of([[[("+", "x" * 300)] * 10]] * 10))
    parts = split_diff(files, max_bytes=8_000)

    assert [file for part in parts for file in part.files] == files
    assert len(parts) > 1


def test_hunks_that_fit_stay_whole():
    (file,) = parse_diff(diff_of([[[("+", "x" * 300)] * 10] * 10]))
    parts = split_diff([file], max_bytes=8_000)

    assert [hunk for part in parts for (each,) in [part.files] for hunk in each.hunks] == list(
        file.hunks
    )
    assert len(parts) > 1


def test_a_line_longer_than_a_part_is_cut():
    parts = split_diff(parse_diff(diff_of([[[("+", "é" * 50_000)]]])), max_bytes=5_000)

    (part,) = parts
    assert len(part.text.encode()) <= 5_000
    assert "é …\n" in part.text


def test_a_part_knows_what_its_files_are_and_were_called():
    diff = "diff --git a/o b/n\nsimilarity index 100%\nrename from o\nrename to n\n"
    (part,) = split_diff(parse_diff(diff), max_bytes=5_000)

    assert part.paths == {"o", "n"}


def test_a_file_whose_name_fills_a_part_is_left_out():
    name = "n" * 6_000
    diff = f"--- a/{name}\n+++ b/{name}\n@@ -1 +1 @@\n-a\n+b\n" + diff_of([[[("+", "x")]]])

    (part,) = split_diff(parse_diff(diff), max_bytes=5_000)

    assert part.paths == {"f0"}


@given(st.text(max_size=2_000))
def test_whatever_a_diff_holds_it_is_split(text):
    hostile = f"--- a/x\n+++ b/x\n@@ -1,9 +1,9 @@{text}\n+{text}\n\\\n\\{text * 5}\n-{text * 9}\n"
    parts = split_diff(parse_diff(hostile), max_bytes=MIN_PART_BYTES)

    assert all(len(part.text.encode("utf-8", "replace")) <= MIN_PART_BYTES for part in parts)


def test_the_smallest_part_is_larger_than_what_is_asked_for():
    parts = split_diff(parse_diff(diff_of([[[("+", "x")]]])), max_bytes=1)

    assert len(parts) == 1
