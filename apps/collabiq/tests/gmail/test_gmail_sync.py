from datetime import timedelta

import pytest

from apps.collabiq.tests.gmail.mailbox import NOW, Mailbox
from collabiq.gmail import Cursor, GmailUnavailable, Page, default_query, sync
from collabiq.gmail.sync import from_history, from_list, full_query, later

QUERY = default_query("collab@example.com")
MAIL = b"Subject: s\r\n\r\nx"


def test_the_first_sync_takes_the_last_days_oldest_first(gmail: Mailbox):
    now_ms = int(NOW.timestamp() * 1_000)
    gmail.stand_in.deliver(MAIL, received_ms=now_ms - 8 * 86_400_000)
    wanted = [gmail.stand_in.deliver(MAIL, received_ms=now_ms - day) for day in (500, 300)]

    found = sync(gmail.api(), cursor=None, query=QUERY, now=NOW)

    assert (found.ids, found.kind) == (tuple(wanted), "full")
    assert found.cursor == Cursor(gmail.stand_in.history_id, NOW)


def test_a_later_sync_takes_what_came_since(gmail: Mailbox):
    gmail.stand_in.deliver(MAIL)
    cursor = sync(gmail.api(), cursor=None, query=QUERY, now=NOW).cursor
    came = [gmail.stand_in.deliver(MAIL) for _ in range(3)]

    found = sync(gmail.api(), cursor=cursor, query=QUERY, now=NOW)
    again = sync(gmail.api(), cursor=found.cursor, query=QUERY, now=NOW)

    assert (found.ids, found.kind) == (tuple(came), "history")
    assert again.ids == ()


def test_1200_new_mails_are_all_found_by_pages(gmail: Mailbox):
    cursor = Cursor(gmail.stand_in.history_id, NOW)
    came = [gmail.stand_in.deliver(MAIL) for _ in range(1_200)]

    found = sync(gmail.api(), cursor=cursor, query=QUERY, now=NOW)

    assert found.ids == tuple(came)
    assert len(gmail.serving.asked("GET", "/history")) == 3


def test_a_history_that_gmail_has_forgotten_is_a_full_sync_once(gmail: Mailbox):
    now_ms = int(NOW.timestamp() * 1_000)
    cursor = Cursor(gmail.stand_in.history_id, NOW - timedelta(hours=2))
    came = [gmail.stand_in.deliver(MAIL, received_ms=now_ms) for _ in range(3)]
    gmail.stand_in.expire_history()

    found = sync(gmail.api(), cursor=cursor, query=QUERY, now=NOW)
    next_one = sync(gmail.api(), cursor=found.cursor, query=QUERY, now=NOW)

    assert (found.ids, found.kind) == (tuple(came), "full")
    assert (next_one.ids, next_one.kind) == ((), "history")


def test_a_mail_that_comes_while_a_list_is_read_is_in_the_next_history(gmail: Mailbox):
    class Busy:
        """A mailbox that gets a mail after the list was read."""

        def __init__(self, api):
            self.api = api
            self.profile, self.history_page = api.profile, api.history_page

        def list_page(self, query, *, page=None):
            found = self.api.list_page(query, page=page)
            self.late = gmail.stand_in.deliver(MAIL)
            return found

    busy = Busy(gmail.api())
    first = sync(busy, cursor=None, query=QUERY, now=NOW)

    assert busy.late not in first.ids
    assert sync(busy, cursor=first.cursor, query=QUERY, now=NOW).ids == (busy.late,)


def test_a_failure_in_the_middle_of_the_pages_moves_no_cursor():
    class Broken:
        def history_page(self, start, *, page=None):
            if page is None:
                return Page(["a"], "2", "50")
            raise GmailUnavailable("broken")

    with pytest.raises(GmailUnavailable):
        sync(Broken(), cursor=Cursor("1", NOW), query=QUERY, now=NOW)


def test_a_full_sync_begins_a_day_before_the_last_good_one():
    good = NOW - timedelta(days=3)

    since = int((good - timedelta(days=1)).timestamp())
    assert full_query("q", cursor=Cursor("1", good), now=NOW) == f"q after:{since}"


def test_a_cursor_never_goes_back():
    pages = [Page(["a", "b"], None, "90"), Page(["b", "c"], None, "100"), Page([], None, "95")]

    found = from_history(pages, cursor=Cursor("99", NOW), now=NOW)

    assert (found.ids, found.cursor.history_id) == (("a", "b", "c"), "100")
    assert later("99", "100") == "100"


def test_a_list_is_turned_around():
    pages = [Page(["c", "b"], "2"), Page(["b", "a"], None)]

    assert from_list(pages, history_id="5", now=NOW).ids == ("a", "b", "c")


def test_the_query_leaves_out_trash_spam_and_own_mails():
    assert QUERY == "to:collab@example.com -in:trash -in:spam -from:me"
