"""Which source the variables of the environment choose."""

import pytest

from criticizer.sources.git import GitSource
from criticizer.sources.github import GitHubSource
from criticizer.sources.gitlab import GitLabSource
from criticizer.sources.open import SourceConfig, open_source
from criticizer.sources.url import UrlSource
from holdfast.errors import InvalidSetting
from holdfast.variables import Variables

SECRET = "hunter2hunter2"


@pytest.mark.parametrize(
    ("given", "kind", "opened"),
    [
        ({}, "git", GitSource),
        ({"CHANGES_URL": "/srv/rope"}, "git", GitSource),
        ({"CHANGES_URL": "https://changes.example.org/d"}, "url", UrlSource),
        ({"CHANGES_SOURCE": "github"}, "github", GitHubSource),
        (
            {"CHANGES_SOURCE": "GitLab", "CHANGES_URL": "https://g.example.org"},
            "gitlab",
            GitLabSource,
        ),
        ({"CHANGES_SOURCE": "git", "CHANGES_URL": "https://x.org/rope.git"}, "git", GitSource),
        ({"CHANGES_SOURCE": "git", "CHANGES_URL": "git@x.org:rope.git"}, "git", GitSource),
    ],
)
def test_the_variables_choose_where_changes_come_from(given, kind, opened):
    config = SourceConfig.read(Variables(given))

    assert config.kind == kind
    assert isinstance(open_source(config), opened)


@pytest.mark.parametrize(
    "given",
    [
        {"CHANGES_SOURCE": "svn"},
        {"CHANGES_SOURCE": "url"},
        {"CHANGES_SOURCE": "url", "CHANGES_URL": "/srv/diffs"},
        {"CHANGES_SOURCE": "github", "CHANGES_URL": f"https://ada:{SECRET}@api.github.com"},
        {"CHANGES_SOURCE": "gitlab", "CHANGES_URL": "https://g.org?x=1"},
        {"CHANGES_SOURCE": "git", "CHANGES_URL": "ftp://x.org/rope"},
        {"CHANGES_MAX_BYTES": "0"},
        {"CHANGES_MAX_BYTES": "much"},
    ],
)
def test_what_cannot_be_used_is_refused_by_name(given):
    with pytest.raises(InvalidSetting, match="CHANGES_") as raised:
        SourceConfig.read(Variables(given))
    assert SECRET not in str(raised.value)


def test_a_configuration_does_not_show_its_secrets():
    config = SourceConfig(kind="git", location=f"https://a:{SECRET}@x.org/r", token=SECRET)

    assert SECRET not in repr(config)
