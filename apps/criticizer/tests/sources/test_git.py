"""Changes out of a repository on this machine."""

import shutil

import pytest

from criticizer.diffs import parse_diff
from criticizer.sources.errors import (
    BadChangeId,
    ChangeMissing,
    ChangeTooLarge,
    SourceFailed,
    SourceTimedOut,
    SourceUnusable,
)
from criticizer.sources.git import GitSource


@pytest.fixture
def source(work):
    return GitSource(str(work.folder), token=None, max_bytes=1_000_000)


def added_in(change):
    return [line.text for file in parse_diff(change.diff) for line in file.added]


@pytest.mark.parametrize("name", ["HEAD", "main", "HEAD~0", "refs/heads/main"])
def test_a_commit_is_what_it_changed(source, fetched, name):
    change = fetched(source, name)

    assert added_in(change) == ["loops = 2"]
    assert change.title == "Add a loop"
    assert change.diff.startswith("diff --git a/rope.py b/rope.py\n")


def test_a_commit_may_be_named_by_its_hash_or_the_beginning_of_it(source, fetched, work):
    full = work.git("rev-parse", "HEAD")

    assert added_in(fetched(source, full)) == added_in(fetched(source, full[:10])) == ["loops = 2"]


def test_the_first_commit_adds_everything(source, fetched):
    assert added_in(fetched(source, "HEAD~1")) == ["knots = 1"]


def test_a_range_is_the_difference_between_its_ends(source, fetched, work):
    work.commit("Add an end", rope_py="knots = 1\nloops = 2\nends = 3\n")
    change = fetched(source, "HEAD~2..HEAD")

    assert added_in(change) == ["loops = 2", "ends = 3"]
    assert change.title == "Add an end"


def test_a_range_with_three_dots_is_what_one_end_did_since_both_were_one(source, fetched, work):
    work.git("checkout", "-q", "-b", "topic", "HEAD~1")
    work.commit("On a topic", topic_py="t = 1\n")

    assert added_in(fetched(source, "main...topic")) == ["t = 1"]
    assert "loops" in fetched(source, "main..topic").diff


def test_a_merge_is_what_it_brought_to_its_first_parent(source, fetched, work):
    work.git("checkout", "-q", "-b", "topic", "HEAD~1")
    work.commit("On a topic", topic_py="t = 1\n")
    work.git("checkout", "-q", "main")
    work.git("merge", "-q", "--no-ff", "-m", "Merge it", "topic")

    assert added_in(fetched(source, "HEAD")) == ["t = 1"]


def test_a_commit_without_a_change_is_an_empty_diff(source, fetched, work):
    work.commit("Nothing")

    assert fetched(source, "HEAD").diff == ""


def test_a_rename_is_one_file(source, fetched, work):
    work.git("mv", "rope.py", "line.py")
    work.commit("Rename it")
    (file,) = parse_diff(fetched(source, "HEAD").diff)

    assert (file.old_path, file.new_path) == ("rope.py", "line.py")


def test_a_pinned_id_means_the_same_when_branches_have_moved(source, fetched, work):
    pinned = source.pin("HEAD~1..HEAD", timeout_s=30).changelist_id
    work.commit("Add an end", rope_py="knots = 1\nloops = 2\nends = 3\n")

    assert added_in(fetched(source, pinned)) == ["loops = 2"]
    assert source.pin(pinned, timeout_s=30).changelist_id == pinned
    assert source.pin("HEAD~1", timeout_s=30).changelist_id == pinned.partition("..")[2]


def test_the_repository_is_called_by_its_folder_and_by_no_path(source, work):
    pinned = source.pin("HEAD", timeout_s=30)

    assert pinned.repository == work.folder.name
    assert "/" not in pinned.repository
    assert source.located(pinned.changelist_id) == pinned
    assert source.located("HEAD") is None


def test_a_mistyped_commit_cannot_be_pinned(source):
    with pytest.raises(ChangeMissing):
        source.pin("HAED", timeout_s=30)
    with pytest.raises(ChangeMissing):
        source.pin("0" * 40, timeout_s=30)
    with pytest.raises(BadChangeId):
        source.pin("--output=x", timeout_s=30)


@pytest.mark.parametrize(
    "unknown", ["nobody", "HEAD~99", "HEAD^2", "0" * 40, "abcdef1", "main..nobody", "v1.0"]
)
def test_a_revision_that_is_not_there_is_missing(source, fetched, unknown):
    with pytest.raises(ChangeMissing, match=unknown.replace(".", r"\.").replace("^", r"\^")):
        fetched(source, unknown)


def test_what_is_no_commit_is_missing(source, fetched, work):
    blob = work.git("rev-parse", "HEAD:rope.py")

    with pytest.raises(ChangeMissing):
        fetched(source, blob)


@pytest.mark.parametrize(
    "bad",
    [
        "",
        "-h",
        "--output=/tmp/x",
        "--upload-pack=touch",
        "HEAD:rope.py",
        ":/Add",
        "HEAD^{/Add}",
        "HEAD^{commit}",
        "a b",
        "a\nb",
        "a\x00b",
        "..",
        "a..b..c",
        "main..",
        "HEAD;id",
        "$(id)",
        "x" * 201,
    ],
)
def test_what_is_no_id_is_refused_before_git_sees_it(source, fetched, bad):
    with pytest.raises(BadChangeId):
        fetched(source, bad)


def test_a_change_over_the_limit_is_too_large(work, fetched):
    work.commit("Much", much_txt="line\n" * 100_000)
    source = GitSource(str(work.folder), token=None, max_bytes=10_000)

    with pytest.raises(ChangeTooLarge, match="10000 bytes"):
        fetched(source, "HEAD")


def test_git_that_takes_too_long_is_ended(source, fetched):
    with pytest.raises(SourceTimedOut):
        fetched(source, "HEAD", timeout_s=0.000_001)


@pytest.mark.parametrize("kind", ["missing", "empty", "file"])
def test_a_folder_without_a_repository_cannot_be_used(tmp_path, fetched, kind):
    place = tmp_path / "place"
    if kind == "empty":
        place.mkdir()
    elif kind == "file":
        place.write_text("x")

    with pytest.raises(SourceUnusable):
        fetched(GitSource(str(place), token=None, max_bytes=1_000), "HEAD")


def test_the_repository_above_a_folder_is_not_the_one_that_was_named(work, fetched):
    inner = work.folder / "inner"
    inner.mkdir()

    with pytest.raises(SourceUnusable):
        fetched(GitSource(str(inner), token=None, max_bytes=1_000), "HEAD")


def test_who_works_inside_of_a_repository_is_in_it(work, fetched, monkeypatch):
    inner = work.folder / "inner"
    inner.mkdir()
    monkeypatch.chdir(inner)

    assert added_in(fetched(GitSource(".", token=None, max_bytes=10_000), "HEAD")) == ["loops = 2"]


def test_a_repository_that_wants_to_fetch_what_it_lacks_does_not(source, fetched, work, tmp_path):
    witness = tmp_path / "witness"
    blob = work.git("rev-parse", "HEAD:rope.py")
    (work.folder / ".git" / "objects" / blob[:2] / blob[2:]).unlink()
    for name, value in {
        "core.repositoryFormatVersion": "1",
        "extensions.partialClone": "evil",
        "remote.evil.promisor": "true",
        "remote.evil.url": f"ext::touch {witness}",
        "protocol.allow": "always",
        "protocol.ext.allow": "always",
    }.items():
        work.git("config", name, value)

    with pytest.raises((SourceUnusable, SourceFailed)):
        fetched(source, "HEAD")
    assert not witness.exists()


def test_a_bare_repository_and_a_file_url_do_as_well(work, fetched, tmp_path):
    work.git("clone", "-q", "--bare", ".", str(tmp_path / "bare.git"))
    source = GitSource(f"file://{tmp_path}/bare.git", token=None, max_bytes=1_000_000)

    assert added_in(fetched(source, "HEAD")) == ["loops = 2"]


def test_names_and_text_of_any_bytes_become_text(source, fetched, work):
    (work.folder / "na\u00efve\tname").write_bytes(b"caf\xe9 \xff\x01\n")
    work.commit("Odd")
    (file,) = parse_diff(fetched(source, "HEAD").diff)

    assert file.path == "na\u00efve\N{REPLACEMENT CHARACTER}name"
    assert next(iter(file.added)).text.startswith("caf")


def test_a_title_is_one_line_that_can_be_shown(source, fetched, work):
    work.commit("Red \x1b[31m alert\u202e")

    assert fetched(source, "HEAD").title.isprintable()


def test_programs_that_a_repository_names_are_not_run(source, fetched, work, tmp_path):
    witness = tmp_path / "witness"
    script = tmp_path / "script"
    script.write_text(f'#!/bin/sh\necho "$0 $@" >> {witness}\necho bad\n')
    script.chmod(0o755)
    hooks = work.folder / ".git" / "hooks"
    shutil.rmtree(hooks, ignore_errors=True)
    hooks.mkdir()
    for hook in ("post-index-change", "reference-transaction", "fsmonitor-watchman"):
        shutil.copy(script, hooks / hook)
    for name in (
        "core.pager",
        "core.fsmonitor",
        "core.sshCommand",
        "diff.external",
        "diff.evil.textconv",
        "diff.evil.command",
        "gpg.program",
        "core.alternateRefsCommand",
    ):
        work.git("config", name, str(script))
    work.git("config", "log.showSignature", "true")
    (work.folder / ".git" / "info" / "attributes").write_text("* diff=evil\n")

    change = fetched(source, "HEAD")

    assert added_in(change) == ["loops = 2"]
    assert not witness.exists()


def test_the_likings_of_a_repository_do_not_change_a_diff(source, fetched, work):
    before = fetched(source, "HEAD").diff
    for name, value in {
        "diff.noprefix": "true",
        "diff.mnemonicPrefix": "true",
        "color.ui": "always",
        "color.diff": "always",
        "diff.context": "0",
        "diff.suppressBlankEmpty": "true",
        "core.abbrev": "40",
    }.items():
        work.git("config", name, value)

    assert fetched(source, "HEAD").diff.splitlines()[2:] == before.splitlines()[2:]


def test_variables_of_ours_do_not_lead_git_elsewhere(source, fetched, monkeypatch, tmp_path):
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "nowhere"))
    monkeypatch.setenv("GIT_EXTERNAL_DIFF", "false")
    monkeypatch.setenv("GIT_TRACE", str(tmp_path / "trace"))

    assert added_in(fetched(source, "HEAD")) == ["loops = 2"]
    assert not (tmp_path / "trace").exists()
