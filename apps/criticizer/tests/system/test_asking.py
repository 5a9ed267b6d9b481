"""A key names one request for good, and a change and its version name one review."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from apps.criticizer.tests.scripted import Heard
from criticizer.payload import Asked
from criticizer.refusals import ChangeRefused, SourceAway, VersionRefused
from criticizer.reviews import Reviews, review_of
from criticizer.sources.errors import BadChangeId, ChangeMissing, SourceTimedOut
from holdfast import JobFilter, JobState
from holdfast.errors import HoldfastError

DAY = 86_400


class TestKeys:
    def test_a_new_key_makes_a_review_and_a_known_one_finds_it(self, criticizer):
        first, again = criticizer.ask(), criticizer.ask()

        assert (first.created, again.created) == (True, False)
        assert first.job.id == again.job.id
        assert again.differs == ()

    def test_a_known_key_decides_alone_and_what_differs_is_pointed_out(self, criticizer):
        first = criticizer.ask()
        other = criticizer.ask(changelist_id="cl-18", recipients=["eve@example.org"])
        criticizer.run()

        assert other.job.id == first.job.id
        assert other.differs == ("changelist_id", "recipients")
        assert criticizer.source.calls == ["cl-17"]
        assert "eve@example.org" not in criticizer.told()

    def test_owners_do_not_share_keys_or_versions(self, criticizer):
        mine = criticizer.ask(owner="ada")
        theirs = criticizer.ask(owner="bob")

        assert mine.created
        assert theirs.created
        assert mine.job.id != theirs.job.id

    def test_many_requests_at_once_with_one_key_make_one_review(self, criticizer):
        with ThreadPoolExecutor(8) as pool:
            made = list(pool.map(lambda _: criticizer.ask(), range(40)))

        assert sum(each.created for each in made) == 1
        assert len({each.job.id for each in made}) == 1

    def test_many_requests_at_once_with_one_key_and_other_changes_make_one_review(self, criticizer):
        with ThreadPoolExecutor(8) as pool:
            made = list(pool.map(lambda n: criticizer.ask(changelist_id=f"cl-{n % 4}"), range(24)))

        assert len({each.job.id for each in made}) == 1
        assert criticizer.app.count(JobFilter(pipeline="review")) == 1

    def test_a_request_that_was_kept_and_not_carried_out_is_carried_out_when_it_is_repeated(
        self, criticizer
    ):
        criticizer.app.submit(
            "review-request",
            {"changelist_id": "cl-9", "review_version": 2, "recipients": ["ada@example.org"]},
            key="k-9",
        )

        made = criticizer.ask("k-9", changelist_id="cl-10")

        assert made.created
        assert made.job.payload["changelist_id"] == "cl-9"


class TestVersions:
    def test_another_key_for_a_version_that_succeeded_finds_what_came_of_it(self, criticizer):
        done = criticizer.reviewed()

        again = criticizer.ask("k-2")
        criticizer.run()

        assert (again.created, again.job.id) == (False, done.id)
        assert again.job.state is JobState.COMPLETE
        assert len(criticizer.mail.sent()) == 2

    def test_a_rerun_with_a_higher_version_tells_everyone_anew(self, criticizer):
        first = criticizer.reviewed()
        second = criticizer.reviewed("k-2", review_version=4, rerun=True)

        assert second.id != first.id
        assert second.job.rerun_of == first.id
        assert criticizer.told() == ["ada@example.org"] * 2 + ["bob@example.org"] * 2

    def test_a_known_key_makes_no_rerun_and_names_its_own_review(self, criticizer):
        first = criticizer.reviewed()
        rerun = criticizer.ask(review_version=4, rerun=True)
        criticizer.run()

        assert (rerun.created, rerun.job.id) == (False, first.id)
        assert rerun.differs == ("review_version", "rerun")
        assert criticizer.app.count(JobFilter(pipeline="review")) == 1
        assert len(criticizer.mail.sent()) == 2

    def test_a_rerun_under_a_key_of_its_own_is_found_again_by_it(self, criticizer):
        criticizer.reviewed()
        fourth = criticizer.reviewed("k-4", review_version=4, rerun=True)
        criticizer.reviewed("k-5", review_version=5, rerun=True)

        again = criticizer.ask("k-4", review_version=4, rerun=True)
        assert (again.created, again.job.id, again.differs) == (False, fourth.id, ())

    def test_a_rerun_of_a_version_that_succeeded_returns_its_success(self, criticizer):
        done = criticizer.reviewed()
        again = criticizer.ask("k-2", review_version=3, rerun=True)
        criticizer.run()

        assert (again.created, again.job.id) == (False, done.id)
        assert again.job.state is JobState.COMPLETE
        assert len(criticizer.mail.sent()) == 2

    def test_a_rerun_with_a_lower_version_is_refused_and_tells_nobody(self, criticizer):
        first = criticizer.reviewed()

        with pytest.raises(VersionRefused) as refused:
            criticizer.ask("k-2", review_version=2, rerun=True)

        criticizer.run()
        assert (refused.value.requested, refused.value.found) == (2, 3)
        assert refused.value.job_id == first.id
        assert len(criticizer.mail.sent()) == 2

    def test_a_higher_version_is_no_rerun_unless_it_says_so(self, criticizer):
        criticizer.reviewed()

        with pytest.raises(VersionRefused, match="rerun: true"):
            criticizer.ask("k-2", review_version=4)

        assert criticizer.ask("k-2", review_version=4, rerun=True).created

    def test_a_lower_version_is_refused_also_without_a_rerun(self, criticizer):
        criticizer.reviewed()

        with pytest.raises(VersionRefused):
            criticizer.ask("k-2", review_version=2)

    def test_after_a_review_that_failed_a_higher_version_needs_no_rerun(self, criticizer):
        criticizer.source.plays += [PermissionError("no"), KeyError("bug")]
        failed = criticizer.reviewed()
        assert failed.state is JobState.FAILED

        assert criticizer.ask("k-2", review_version=4).created

    def test_a_first_review_may_call_itself_a_rerun(self, criticizer):
        assert criticizer.ask(rerun=True).created

    def test_reruns_at_once_make_one_review_of_a_version(self, criticizer):
        criticizer.reviewed()

        def rerun(number):
            try:
                return criticizer.ask(f"k-{number}", review_version=4, rerun=True)
            except VersionRefused:
                return None

        with ThreadPoolExecutor(8) as pool:
            made = [each for each in pool.map(rerun, range(10, 26)) if each is not None]
        criticizer.run()

        assert sum(each.created for each in made) == 1
        assert len({each.job.id for each in made}) == 1
        assert len(criticizer.mail.sent()) == 4


class TestAfterTheDataIsGone:
    """Keys and versions decide for good, however long ago the jobs were removed."""

    @pytest.fixture
    def done(self, criticizer):
        done = criticizer.reviewed()
        criticizer.clock.advance(400 * DAY)
        assert criticizer.app.purge()["jobs"] == 2
        return done

    def test_the_same_key_names_the_review_that_it_made(self, criticizer, done):
        again = criticizer.ask()
        criticizer.run()

        assert (again.created, again.job.id, again.differs) == (False, done.id, ())
        assert (again.job.state, again.job.job.version) == (JobState.COMPLETE, 3)
        assert again.job.removed_at is not None
        assert criticizer.app.count(JobFilter()) == 0
        assert criticizer.source.calls == ["cl-17"]

    def test_the_same_key_with_other_words_names_it_as_well(self, criticizer, done):
        again = criticizer.ask(changelist_id="cl-18", review_version=9, rerun=True)

        assert (again.created, again.job.id) == (False, done.id)
        assert again.differs == ("changelist_id", "review_version", "rerun")
        assert criticizer.app.count(JobFilter()) == 0

    def test_another_key_for_the_same_version_finds_its_success(self, criticizer, done):
        for rerun in (False, True):
            again = criticizer.ask(f"k-{rerun}", rerun=rerun)
            assert (again.created, again.job.id) == (False, done.id)
        criticizer.run()

        assert criticizer.app.count(JobFilter(pipeline="review")) == 0
        assert len(criticizer.mail.sent()) == 2

    @pytest.mark.parametrize("rerun", [False, True])
    def test_a_lower_version_is_refused(self, criticizer, done, rerun):
        with pytest.raises(VersionRefused) as refused:
            criticizer.ask("k-2", review_version=2, rerun=rerun)

        assert (refused.value.found, refused.value.job_id) == (3, done.id)
        assert criticizer.app.count(JobFilter()) == 0

    def test_a_higher_version_is_a_rerun(self, criticizer, done):
        with pytest.raises(VersionRefused, match="rerun: true"):
            criticizer.ask("k-2", review_version=4)
        rerun = criticizer.reviewed("k-2", review_version=4, rerun=True)

        assert rerun.state is JobState.COMPLETE
        assert len(criticizer.mail.sent()) == 4

    def test_nobody_s_address_is_kept_with_a_key(self, criticizer, done):
        (request,) = criticizer.app.of_key("review-request", "k-1")

        assert request.memo == {
            "changelist_id": "cl-17",
            "review_version": 3,
            "rerun": False,
            "named": "",
        }

    def test_a_key_of_which_nothing_is_left_makes_no_review(self, criticizer):
        criticizer.app.submit(
            "review-request",
            {"changelist_id": "cl-9", "review_version": 2, "recipients": ["ada@example.org"]},
            key="k-9",
        )
        criticizer.run()
        criticizer.clock.advance(400 * DAY)
        criticizer.app.purge()

        with pytest.raises(VersionRefused, match="used before"):
            criticizer.ask("k-9", changelist_id="cl-10")
        assert criticizer.app.count(JobFilter()) == 0


@pytest.mark.parametrize("asked", [{}, {"review_version": 4, "rerun": True}])
def test_the_versions_of_a_change_are_read_once_for_a_new_request(criticizer, asked):
    criticizer.reviewed()
    heard = []
    given = Asked(
        changelist_id="cl-17", recipients=["ada@example.org"], **{"review_version": 3, **asked}
    )

    made = Reviews(Heard(criticizer.app, heard), source=criticizer.source, pin_timeout_s=5).ask(
        given, key="k-2", owner=""
    )

    assert made.created is bool(asked)
    # Whether the key is known, and which versions there are.
    assert heard.count("of_key") == 2


def test_what_cannot_be_kept_is_refused_and_makes_nothing(criticizer):
    with pytest.raises(HoldfastError):
        criticizer.ask("k\n1")

    assert criticizer.app.count(JobFilter()) == 0


class TestNamesThatMove:
    """A name such as HEAD~1..HEAD is pinned to commits when it is submitted."""

    OLD, NEW, NEWEST = "a" * 40, "b" * 40, "c" * 40

    @pytest.fixture
    def head(self, criticizer):
        criticizer.source.names["HEAD~1..HEAD"] = f"{self.OLD}..{self.NEW}"

    def test_a_new_commit_is_a_new_review(self, criticizer, head):
        first = criticizer.ask("k-1", changelist_id="HEAD~1..HEAD")
        criticizer.source.names["HEAD~1..HEAD"] = f"{self.NEW}..{self.NEWEST}"
        second = criticizer.ask("k-2", changelist_id="HEAD~1..HEAD")
        criticizer.run()

        assert first.created
        assert second.created
        assert criticizer.source.calls == [
            f"{self.OLD}..{self.NEW}",
            f"{self.NEW}..{self.NEWEST}",
        ]

    def test_what_was_asked_for_is_kept_beside_the_commits_and_the_repository(
        self, criticizer, head
    ):
        review = review_of(criticizer.reviewed(changelist_id="HEAD~1..HEAD"))

        assert (review.named, review.repository) == ("HEAD~1..HEAD", "team/rope")
        assert review.commits == [self.OLD, self.NEW]

    def test_the_same_key_names_its_first_review_and_nothing_differs(self, criticizer, head):
        first = criticizer.ask(changelist_id="HEAD~1..HEAD")
        criticizer.source.names["HEAD~1..HEAD"] = f"{self.NEW}..{self.NEWEST}"

        again = criticizer.ask(changelist_id="HEAD~1..HEAD")

        assert (again.created, again.job.id, again.differs) == (False, first.job.id, ())

    def test_the_commits_themselves_lead_to_the_same_review(self, criticizer, head):
        first = criticizer.ask(changelist_id="HEAD~1..HEAD")

        again = criticizer.ask("k-2", changelist_id=f"{self.OLD}..{self.NEW}")

        assert (again.created, again.job.id) == (False, first.job.id)

    @pytest.mark.parametrize(
        ("error", "error_class"),
        [
            (ChangeMissing("the repository has no HAED"), "CHANGE_UNKNOWN"),
            (BadChangeId("a commit, or a range"), "CHANGE_ID_INVALID"),
        ],
    )
    def test_a_mistyped_change_is_told_and_counted_and_calls_no_operator(
        self, criticizer, error, error_class
    ):
        criticizer.source.unpinned.append(error)

        with pytest.raises(ChangeRefused, match=str(error)):
            criticizer.ask(changelist_id="HAED")

        (refused,) = criticizer.app.jobs(JobFilter(pipeline="review-request"))
        assert (refused.state, refused.job.error_class) == (JobState.FAILED, error_class)
        assert criticizer.app.dead.find() == []
        assert criticizer.app.count(JobFilter(pipeline="review")) == 0
        assert criticizer.ask(changelist_id="HEAD").created

    def test_while_the_source_is_away_a_name_is_refused_and_commits_are_taken(
        self, criticizer, head
    ):
        criticizer.source.unpinned += [SourceTimedOut("slow"), ConnectionError("no")]

        with pytest.raises(SourceAway, match="NETWORK_TIMEOUT"):
            criticizer.ask(changelist_id="HEAD~1..HEAD")
        assert criticizer.ask(changelist_id=self.NEW).created
