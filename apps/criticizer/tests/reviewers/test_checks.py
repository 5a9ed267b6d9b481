"""What a diff shows by itself."""

import time

import pytest

from criticizer.diffs import parse_diff
from criticizer.reviewers.checks import checked, is_test


def diff_of(path, *added, removed=()):
    """A diff that adds and removes lines at the top of a file."""
    lines = [*(f"-{line}" for line in removed), *(f"+{line}" for line in added)]
    head = f"--- a/{path}\n+++ b/{path}\n@@ -1,{len(removed) + 1} +1,{len(added) + 1} @@\n"
    return head + "".join(f"{line}\n" for line in [*lines, " end"])


def said_of(diff):
    return [(found.line, found.severity, found.message) for found in checked(parse_diff(diff))]


def messages(path, *added):
    return " ".join(message for _, _, message in said_of(diff_of(path, *added)))


@pytest.mark.parametrize("marker", ["<<<<<<< HEAD", ">>>>>>> topic", "||||||| base", "<<<<<<<"])
def test_a_marker_of_a_conflict_is_an_error(marker):
    assert said_of(diff_of("a.txt", "fine", marker)) == [
        (2, "error", "A marker of a merge conflict is left in.")
    ]


@pytest.mark.parametrize("fine", ["=======", "x <<<<<<< y", "<<<<<<<<", "cat <<<<<<<x"])
def test_what_only_resembles_a_marker_is_fine(fine):
    assert said_of(diff_of("a.txt", fine)) == []


def test_only_what_is_added_is_looked_at():
    diff = "--- a/a.py\n+++ b/a.py\n@@ -1,2 +1,2 @@\n breakpoint()\n-import pdb\n+fine = 1\n"

    assert said_of(diff) == []


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("a.py", "    breakpoint()"),
        ("a.py", "import pdb; pdb.set_trace()"),
        ("a.py", "ipdb.set_trace()"),
        ("a.ts", "  debugger;"),
        ("a.rb", "binding.pry"),
    ],
)
def test_a_debugger_that_is_left_in_is_an_error(path, line):
    assert [(severity, message) for _, severity, message in said_of(diff_of(path, line))] == [
        ("error", "A debugger is left in.")
    ]


def test_prints_are_noted_but_not_in_tests():
    assert "prints" in messages("a.py", "print(x)")
    assert "prints" in messages("a.js", "  console.log(x)")
    assert messages("test_a.py", "print(x)") == ""
    assert messages("a.py", "blueprint(x)", "# print(x)") == ""


@pytest.mark.parametrize("note", ["# TODO later", "// FIXME: x", "XXX"])
def test_work_that_is_left_is_noted(note):
    assert "left to do" in messages("a.py", note)
    assert messages("a.py", "todos = mastodon") == ""


def test_blanks_at_ends_are_counted_once_per_file_and_not_of_other_line_ends():
    assert said_of(diff_of("a.py", "x ", "y", "z\t")) == [
        (1, "info", "2 added lines with blanks at the end.")
    ]
    assert said_of(diff_of("a.py", "x\r", "y\r")) == []
    assert said_of(diff_of("a.md", "a break  ")) == []


def test_very_long_lines_are_counted_where_somebody_wraps_lines():
    assert "1 added line longer than 200" in messages("a.py", "x" * 201)
    assert messages("a.py", "x" * 200) == ""
    assert messages("a.json", "x" * 500) == ""


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("-----BEGIN RSA PRIVATE KEY-----", "a private key"),
        ("-----BEGIN PRIVATE KEY-----", "a private key"),
        ("key = AKIA" + "Q" * 16, "AWS"),
        ("ghp_" + "a1" * 18, "GitHub"),
        ("glpat-" + "a" * 20, "GitLab"),
        ("xoxb-" + "1" * 12, "Slack"),
        ("sk-proj-" + "a" * 24, "an API key"),
        ("AIza" + "a" * 35, "Google"),
        ("eyJ" + "a" * 20 + ".eyJ" + "b" * 20 + "." + "c" * 20, "a token"),
    ],
)
def test_secrets_are_known_by_their_shape_and_not_quoted(line, kind):
    ((number, severity, message),) = said_of(diff_of("test_a.cfg", line))

    assert (number, severity) == (1, "error")
    assert kind in message
    assert line not in message


@pytest.mark.parametrize("line", ['password = "hunter2hunter2"', "postgres://ada:hunter2@db/x"])
def test_what_may_be_a_secret_is_a_warning_and_expected_in_tests(line):
    assert [severity for _, severity, _ in said_of(diff_of("a.cfg", line))] == ["warning"]
    assert said_of(diff_of("test_a.py", line)) == []


@pytest.mark.parametrize(
    "line",
    [
        'password = "${DB_PASSWORD}"',
        'api_key = "your-api-key-here"',
        "password = read_password()",
        'password: ""',
        "smtp://user:password@mail.example.org",
        "https://example.org:8080/x@y",
    ],
)
def test_places_for_secrets_are_no_secrets(line):
    assert said_of(diff_of("a.cfg", line)) == []


def test_binary_files_are_noted_and_large_ones_warned_of():
    small = "diff --git a/x b/x\nBinary files a/x and b/x differ\n"
    large = "diff --git a/x b/x\nGIT binary patch\nliteral 600000\nzabc\n"

    assert [severity for _, severity, _ in said_of(small)] == ["info"]
    assert [severity for _, severity, _ in said_of(large)] == ["warning"]
    assert "600000 bytes" in said_of(large)[0][2]


def test_tests_that_are_lost_are_warned_of():
    gone = "diff --git a/test_a.py b/test_a.py\ndeleted file mode 100644\n--- a/test_a.py\n"
    gone += "+++ /dev/null\n@@ -1,2 +0,0 @@\n-def test_it():\n-    pass\n"
    fewer = diff_of("test_b.py", removed=["def test_one():", "async def test_two():"])

    assert said_of(gone) == [(None, "warning", "A test file is deleted.")]
    assert said_of(fewer) == [(None, "warning", "It lost 2 tests.")]


def test_tests_that_only_moved_are_not_lost():
    moved = diff_of("test_a.py", removed=["def test_one():"]) + diff_of(
        "test_b.py", "def test_one():"
    )

    assert said_of(moved) == []


@pytest.mark.parametrize("path", ["test_a.py", "x/a_test.go", "a.spec.ts", "FooTest.java"])
def test_files_of_tests_are_known_by_their_names(path):
    assert is_test(path)
    assert not is_test("tests/conftest.py")


def test_one_thing_is_not_said_without_end():
    assert len(said_of(diff_of("a.py", *["breakpoint()"] * 500))) == 20


@pytest.mark.parametrize(
    "line", ["eyJ-" * 1_000, "password=" * 400, "a://" * 1_000, "sk-" * 1_000, " " * 4_000]
)
def test_lines_made_to_take_long_do_not(line):
    diff = diff_of("a.py", *[line] * 100)
    started_at_s = time.process_time()
    list(checked(parse_diff(diff)))

    assert time.process_time() - started_at_s < 30
