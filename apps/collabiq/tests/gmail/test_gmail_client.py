import pytest

from apps.collabiq.tests.gmail.mailbox import Mailbox
from collabiq.gmail import (
    GmailForbidden,
    GmailInvalid,
    GmailNotFound,
    GmailRateLimited,
    GmailUnauthorized,
    GmailUnavailable,
    GrantRevoked,
)
from collabiq.samples import mailbox
from collabiq.stand_ins.gmail import GmailStandIn
from collabiq.stand_ins.serving import Serving


def test_a_mail_comes_with_its_very_bytes(gmail: Mailbox):
    samples = [sample for sample in mailbox() if len(sample.raw) < 100_000]
    ids = [gmail.stand_in.deliver(sample.raw) for sample in samples]
    api = gmail.api()

    assert [api.message(each).raw for each in ids] == [sample.raw for sample in samples]


def test_a_token_that_dies_in_the_middle_is_replaced(gmail: Mailbox):
    mail_id = gmail.stand_in.deliver(b"Subject: s\r\n\r\nx")
    api = gmail.api()
    api.profile()
    gmail.stand_in.expire_tokens()

    assert api.message(mail_id).id == mail_id
    assert gmail.stand_in.refreshes == 2


def test_a_new_token_that_is_refused_too_is_not_replaced_again(gmail: Mailbox):
    gmail.serving.fault = "unauthorized"

    with pytest.raises(GmailUnauthorized):
        gmail.api().profile()

    assert gmail.stand_in.refreshes == 2


def test_a_revoked_grant_in_the_middle_is_told(gmail: Mailbox):
    api = gmail.api()
    api.profile()
    gmail.serving.fault = "token_revoked"

    with pytest.raises(GrantRevoked):
        api.profile()


@pytest.mark.parametrize(
    ("fault", "failure"), [("forbidden", GmailForbidden), ("rate_limited", GmailRateLimited)]
)
def test_a_403_is_judged_by_its_reason(gmail: Mailbox, fault, failure):
    api = gmail.api()
    api.profile()
    gmail.serving.fault = fault
    before = len(gmail.serving.calls)

    with pytest.raises(failure) as failed:
        api.profile()

    assert failed.value.status == 403
    assert len(gmail.serving.calls) - before == 1


def test_a_mail_that_is_gone_is_not_found(gmail: Mailbox):
    mail_id = gmail.stand_in.deliver(b"Subject: s\r\n\r\nx")
    gmail.stand_in.remove(mail_id)

    with pytest.raises(GmailNotFound):
        gmail.api().message(mail_id)


@pytest.mark.parametrize("given", ["../../x", "", "a/b", "a" * 65, "<x@y>"])
def test_what_is_no_id_is_not_asked_for(gmail: Mailbox, given):
    with pytest.raises(GmailInvalid):
        gmail.api().message(given)

    assert gmail.serving.calls == []


def test_no_answer_in_time_is_a_failure(gmail: Mailbox):
    api = gmail.api(timeout_s=0.3)
    api.profile()
    gmail.serving.hanging.set()

    with pytest.raises(GmailUnavailable):
        api.profile()
    api.close()


def test_nobody_there_is_a_failure(tmp_path):
    with Serving(GmailStandIn()) as serving:
        world = Mailbox(serving.stand_in, serving, tmp_path)
        api = world.api()
        api.profile()

    with pytest.raises(GmailUnavailable):
        api.profile()
    api.close()
