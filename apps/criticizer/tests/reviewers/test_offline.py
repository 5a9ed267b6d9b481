"""Reviews without a model."""

import tempfile
import textwrap
import time

import pytest

from criticizer.critique import MAX_FINDINGS
from criticizer.reviewers.errors import ReviewerFailed
from criticizer.reviewers.offline import OfflineReviewer


@pytest.fixture
def reviewer():
    return OfflineReviewer()


@pytest.fixture
def findings(reviewer, reviewed):
    def findings(diff):
        found = reviewed(reviewer, diff, timeout_s=50).critique.findings
        return [(each.file, each.line, each.message.rpartition("(ruff ")[2][:-1]) for each in found]

    return findings


def new_file(path, text):
    lines = text.splitlines()
    return (
        f"diff --git a/{path} b/{path}\nnew file mode 100644\n--- /dev/null\n+++ b/{path}\n"
        f"@@ -0,0 +1,{len(lines)} @@\n" + "".join(f"+{line}\n" for line in lines)
    )


def changed_file(path, hunk, *, start=10):
    lines = textwrap.dedent(hunk).strip("\n").splitlines()
    old = sum(not line.startswith("+") for line in lines)
    new = sum(not line.startswith("-") for line in lines)
    return (
        f"diff --git a/{path} b/{path}\n--- a/{path}\n+++ b/{path}\n"
        f"@@ -{start},{old} +{start},{new} @@\n" + "".join(f"{line}\n" for line in lines)
    )


def test_a_new_python_file_is_judged_whole(findings):
    diff = new_file("rope.py", "import os\n\n\ndef knot(loops=[]):\n    return ends\n")

    assert findings(diff) == [
        ("rope.py", 1, "F401"),
        ("rope.py", 4, "B006"),
        ("rope.py", 5, "F821"),
    ]


def test_a_summary_counts_files_lines_and_findings(reviewer, reviewed):
    result = reviewed(reviewer, new_file("rope.py", "import os\nprint(knot)\n"), timeout_s=50)

    assert result.critique.summary == ("1 file, +2 -0. Rules found 1 error, 1 warning and 1 note.")
    assert (result.reviewer, result.usage.calls) == ("offline", 0)


def test_of_a_changed_file_only_added_lines_are_judged_by_what_they_show(findings):
    diff = changed_file(
        "rope.py",
        """
             if loops == None:
                 return ends
        +    if knots == None:
        +        return unknown_name
             import unused
        +    import also_unused
        """,
    )

    assert findings(diff) == [("rope.py", 12, "E711")]


@pytest.mark.parametrize(
    "hunk",
    [
        "     )\n+    x = 1\n",
        "     else:\n+        y = x\n",
        "+    return x\n",
        "+        yield x\n",
        "     @decorated\n+    # what follows is not here\n",
        '+    text = """\n+    begun\n',
        "     words in a long string\n+    more words in it == None\n",
        "     words in a long string\n+    and so: more of them; all prose;\n",
        "+class Knot:\n+    pass\n",
        "     except ValueError:\n+        raise\n",
        "+        case Rope():\n",
        "+            continue\n",
    ],
)
def test_what_is_only_cut_off_is_not_reported(findings, hunk):
    assert findings(changed_file("rope.py", hunk.rstrip("\n"))) == []


def test_code_that_is_no_python_is_one_error(findings, reviewer, reviewed):
    diff = new_file("rope.py", "import os\ndef knot(:\n")
    (found, *_) = reviewed(reviewer, diff, timeout_s=50).critique.findings

    assert (found.line, found.severity) == (2, "error")
    assert found.message == "This is no valid Python."


def test_other_files_and_deleted_ones_are_not_judged(findings):
    gone = "diff --git a/r.py b/r.py\ndeleted file mode 100644\n--- a/r.py\n+++ /dev/null\n"
    gone += "@@ -1 +0,0 @@\n-import os\n"

    assert findings(new_file("rope.txt", "import os\n") + gone) == []


def test_no_configuration_is_taken_from_the_change_or_from_here(findings, tmp_path, monkeypatch):
    silent = 'lint.per-file-ignores = {"*.py" = ["ALL"]}\n'
    (tmp_path / "ruff.toml").write_text(silent)
    monkeypatch.chdir(tmp_path)
    # Above the folder in which ruff reads the change.
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv("RUFF_NO_CACHE", "nonsense")
    diff = new_file("ruff.toml", silent) + new_file("a.py", "import os\n")

    assert findings(diff) == [("a.py", 1, "F401")]


@pytest.mark.parametrize("path", ["../../evil.py", "/etc/evil.py", "x/" * 400 + "y.py"])
def test_names_of_files_lead_nowhere(findings, path):
    found = findings(new_file(path, "import os\n"))

    assert [code for _, _, code in found] == ["F401"]


def test_code_is_not_run(findings, tmp_path):
    witness = tmp_path / "witness"
    findings(new_file("setup.py", f"open({str(witness)!r}, 'w')\n"))

    assert not witness.exists()


@pytest.mark.parametrize(
    "text",
    [
        "x = " + "(" * 60_000,
        "x = " + "[" * 5_000 + "]" * 5_000,
        "-" * 100_000 + "1",
        "x\x00y",
        "\ufeffx = 1",
        "if x:\n" + "".join(" " * depth + "if x:\n" for depth in range(1, 300)),
        "# type: " + "a" * 1_000_000,
    ],
    ids=["open", "nested", "minus", "nul", "mark", "deep", "long"],
)
def test_code_made_to_break_a_parser_does_not_break_a_review(reviewer, reviewed, text):
    result = reviewed(reviewer, new_file("rope.py", text), timeout_s=50)

    assert "1 file" in result.critique.summary


def test_a_change_with_more_findings_than_a_critique_holds_keeps_the_worst(reviewer, reviewed):
    text = "".join(f"import m{number}\n" for number in range(MAX_FINDINGS + 100)) + "unknown\n"
    critique = reviewed(reviewer, new_file("rope.py", text), timeout_s=50).critique

    assert len(critique.findings) == MAX_FINDINGS
    assert "more findings are left out" in critique.summary
    assert any("F821" in found.message for found in critique.findings)


def test_an_empty_change_has_nothing_to_say(reviewer, reviewed):
    critique = reviewed(reviewer, "").critique

    assert (critique.summary, critique.findings) == ("The change is empty.", [])


def test_a_review_that_takes_too_long_may_be_quicker_another_time(reviewer, reviewed):
    with pytest.raises(ReviewerFailed):
        reviewed(reviewer, new_file("rope.py", "import os\n"), timeout_s=0.000_001)


def test_nothing_is_left_behind(findings, tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    findings(new_file("rope.py", "import os\n"))

    assert list(tmp_path.iterdir()) == []


def test_a_large_change_is_judged_in_bounded_time(reviewer, reviewed):
    text = "".join(f"value_{number} = {number}\n" for number in range(3_000))
    diff = "".join(new_file(f"part{number}.py", text) for number in range(6))
    started_at_s = time.process_time()
    reviewed(reviewer, diff, timeout_s=55)

    assert time.process_time() - started_at_s < 40


def test_the_summary_counts_what_is_listed(reviewer, reviewed):
    twice = new_file("rope.py", "print(1)\n") * 2

    critique = reviewed(reviewer, twice, timeout_s=50).critique

    notes = sum(each.severity == "info" for each in critique.findings)
    assert f"{notes} note" in critique.summary
    assert f"{notes + 1} note" not in critique.summary
