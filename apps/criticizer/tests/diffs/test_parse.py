"""What is read out of a unified diff, whoever wrote it."""

import subprocess
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from criticizer.diffs import parse_diff
from criticizer.diffs.model import AddedLine


def only(diff):
    (file,) = parse_diff(diff)
    return file


def test_added_lines_bear_the_numbers_of_the_new_file():
    file = only(
        "diff --git a/rope.py b/rope.py\n--- a/rope.py\n+++ b/rope.py\n"
        "@@ -1,3 +1,4 @@ def knot():\n one\n-two\n+2\n+3\n three\n"
        "@@ -20 +21,2 @@\n twenty\n+more\n"
    )

    assert list(file.added) == [AddedLine(2, "2"), AddedLine(3, "3"), AddedLine(22, "more")]
    assert list(file.removed) == ["two"]
    assert (file.path, file.hunks[0].heading) == ("rope.py", " def knot():")


def test_a_new_file_has_no_old_name_and_a_deleted_one_no_new_name():
    new, deleted = parse_diff(
        "diff --git a/n b/n\nnew file mode 100644\n--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+x\n"
        "diff --git a/d b/d\ndeleted file mode 100644\n--- a/d\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n"
    )

    assert (new.is_new, new.is_deleted, new.path) == (True, False, "n")
    assert (deleted.is_new, deleted.is_deleted, deleted.path) == (False, True, "d")


def test_an_empty_new_file_is_new_by_its_mode():
    file = only("diff --git a/e b/e\nnew file mode 100644\nindex 0000000..e69de29\n")

    assert file.is_new
    assert file.path == "e"


def test_a_rename_has_both_names_with_their_blanks():
    file = only(
        "diff --git a/old name b/new name\nsimilarity index 100%\n"
        "rename from old name\nrename to new name\n"
    )

    assert (file.old_path, file.new_path) == ("old name", "new name")
    assert file.is_renamed


@pytest.mark.parametrize(
    ("written", "name"),
    [
        (r'"a/na\303\257ve.py" "b/na\303\257ve.py"', "naïve.py"),
        (r'"a/tab\there" "b/tab\there"', "tab\N{REPLACEMENT CHARACTER}here"),
        (r'"a/quo\"te" "b/quo\"te"', 'quo"te'),
        (r'"a/back\\slash" "b/back\\slash"', "back\\slash"),
        (r'"a/\377" "b/\377"', "\N{REPLACEMENT CHARACTER}"),
        ("a/two words b/two words", "two words"),
        ("a/x b/x b/x b/x", "x b/x"),
    ],
)
def test_names_are_read_as_git_writes_them(written, name):
    file = only(f"diff --git {written}\nold mode 100644\nnew mode 100755\n")

    assert (file.old_path, file.new_path) == (name, name)


def test_a_name_that_would_break_a_line_does_not():
    file = only('--- "a/x\\ny"\n+++ "b/x\\ny"\n@@ -1 +1 @@\n-a\n+b\n')

    assert file.path == "x\N{REPLACEMENT CHARACTER}y"


def test_a_diff_without_git_names_its_files_without_times():
    file = only("--- old.c\t2024-01-01 10:00\n+++ new.c\t2024-01-02 10:00\n@@ -1 +1 @@\n-a\n+b\n")

    assert (file.old_path, file.new_path) == ("old.c", "new.c")


def test_letters_before_names_are_taken_off_together_or_not_at_all():
    assert only("--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n").path == "x"
    assert only("--- a/x\n+++ lib/x\n@@ -1 +1 @@\n-a\n+b\n").path == "lib/x"


def test_lines_of_a_file_that_ends_lines_otherwise_are_the_same_lines():
    file = only("--- a/w\r\n+++ b/w\r\n@@ -1 +1,2 @@\r\n one\r\n+two\r\n")

    assert file.path == "w"
    assert list(file.added) == [AddedLine(2, "two")]


@pytest.mark.parametrize("letter", ["\x0b", "\x0c", "\x1c", "\x85", "\u2028"])
def test_only_a_newline_ends_a_line(letter):
    file = only(f"--- a/w\n+++ b/w\n@@ -1 +1,2 @@\n one\n+two{letter}-three\n")

    assert list(file.added) == [AddedLine(2, f"two{letter}-three")]


def test_a_note_on_a_missing_newline_is_no_line():
    file = only(
        "--- a/w\n+++ b/w\n@@ -1 +1 @@\n-a\n\\ No newline at end of file\n"
        "+b\n\\ No newline at end of file\n"
    )

    assert list(file.added) == [AddedLine(1, "b")]
    assert len(file.hunks[0].lines) == 4


def test_a_line_of_a_hunk_may_look_like_the_head_of_a_file():
    file = only("--- a/w\n+++ b/w\n@@ -1,2 +1,2 @@\n--- a/x\n-two\n+++ b/x\n+@@ -1 +1 @@\n")

    assert file.path == "w"
    assert [line.text for line in file.added] == ["++ b/x", "@@ -1 +1 @@"]


def test_an_empty_line_that_lost_its_blank_did_not_change():
    file = only("--- a/w\n+++ b/w\n@@ -1,3 +1,3 @@\n one\n\n-two\n+2\n")

    assert list(file.added) == [AddedLine(3, "2")]


def test_binary_files_are_binary_and_what_they_hold_is_left_out():
    text, patch = parse_diff(
        "diff --git a/p.png b/p.png\nBinary files a/p.png and b/p.png differ\n"
        "diff --git a/q.bin b/q.bin\nGIT binary patch\nliteral 700000\nzcmZabc\n\n"
    )

    assert (text.is_binary, text.binary_bytes) == (True, None)
    assert (patch.is_binary, patch.binary_bytes, patch.path) == (True, 700_000, "q.bin")
    assert not any("zcmZ" in line for line in patch.header)


def test_a_merge_of_several_parents_is_named_and_not_read():
    merge, plain = parse_diff(
        "diff --cc w.py\nindex 1,2..3\n--- a/w.py\n+++ b/w.py\n@@@ -1,1 -1,1 +1,2 @@@\n  a\n++b\n"
        "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n"
    )

    assert (merge.path, merge.is_combined, merge.hunks) == ("w.py", True, ())
    assert plain.path == "x"


def test_what_is_around_a_diff_is_no_part_of_it():
    file = only(
        "From 123 Mon Sep 17\nSubject: [PATCH] x\n\n---\n x | 2 +-\n\n"
        "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n-- \n2.39\n"
    )

    assert list(file.added) == [AddedLine(1, "b")]
    assert list(file.removed) == ["a"]


def test_a_hunk_that_breaks_off_holds_what_is_there():
    file = only("--- a/x\n+++ b/x\n@@ -1,9 +1,9 @@\n one\n+two\ndiff is over")

    hunk = file.hunks[0]
    assert (hunk.old_count, hunk.new_count) == (1, 2)


@pytest.mark.parametrize("text", ["", "\n", "hello", "<html></html>", "@@ -1 +1 @@\n+x\n"])
def test_what_is_no_diff_has_no_files(text):
    assert parse_diff(text) == []


def test_a_real_commit_is_read_as_git_counts_it(tmp_path):
    def git(*arguments):
        command = ("git", "-c", "user.name=a", "-c", "user.email=a@b", *arguments)
        return subprocess.run(command, cwd=tmp_path, capture_output=True, check=True).stdout

    git("init", "-q")
    (tmp_path / "na\u00efve \u201cname\u201d.txt").write_text("one\ntwo\n")
    (tmp_path / "gone").write_bytes(b"x\ny")
    (tmp_path / "image").write_bytes(b"\x00\x01")
    git("add", "-A")
    git("commit", "-qm", "one")
    (tmp_path / "na\u00efve \u201cname\u201d.txt").write_text("one\n2\n3")
    (tmp_path / "gone").rename(tmp_path / "moved")
    (tmp_path / "image").write_bytes(b"\x00\x02")
    git("add", "-A")
    git("commit", "-qm", "two")

    files = parse_diff(git("show", "--format=", "-M", "HEAD").decode())

    assert [(file.old_path, file.new_path) for file in files] == [
        ("image", "image"),
        ("gone", "moved"),
        ("na\u00efve \u201cname\u201d.txt", "na\u00efve \u201cname\u201d.txt"),
    ]
    assert [line.text for line in files[2].added] == ["2", "3"]
    assert files[0].is_binary


PIECES = st.sampled_from(
    [
        "diff --git a/x b/x",
        'diff --git "a/\\',
        "diff --git ",
        "diff --cc x",
        "--- a/x",
        "+++ b/x",
        "--- ",
        "+++ ",
        "@@ -1,3 +1,4 @@",
        "@@ -0,0 +1,999999999 @@",
        "@@ -99999999999999999999 +1 @@",
        "@@@ -1 -1 +1 @@@",
        "rename from a",
        "rename to b",
        "GIT binary patch",
        "literal 12",
        "+x",
        "-x",
        " x",
        "\\ No newline at end of file",
        "",
        "\r",
        "\ud800",
    ]
)


@given(st.lists(st.one_of(PIECES, st.text(max_size=20)), max_size=40))
def test_whatever_a_diff_holds_it_is_read(pieces):
    for file in parse_diff("\n".join(pieces)):
        assert file.path.isprintable()
        for hunk in file.hunks:
            assert len(list(hunk.new_side)) == hunk.new_count


@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    "text",
    [
        "\n" * 1_000_000,
        "--- a\n+++ b\n" * 21_000,
        "--- a\n+++ b\n@@ -1,999999999 +1,999999999 @@\n" + " \n" * 500_000,
        'diff --git "' + "\\" * 1_000_000,
        "--- a\n+++ b\n@@ -1 +1 @@\n+" + "x" * 1_000_000,
    ],
    ids=["empty", "names", "long hunk", "quotes", "long line"],
)
def test_mebibytes_of_anything_are_read_in_bounded_time(text):
    started_at_s = time.process_time()
    parse_diff(text)

    assert time.process_time() - started_at_s < 8
