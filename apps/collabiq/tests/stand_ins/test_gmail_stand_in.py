"""What collabiq does not ask of Gmail yet, and the stand-in answers as well."""

import base64
import json
from urllib.parse import urlencode

import pytest

from collabiq.samples import mailbox
from collabiq.stand_ins.gmail import GmailStandIn
from holdfast.systems import Call

ME = "/gmail/v1/users/me"


class Asked:
    def __init__(self) -> None:
        self.stand_in = GmailStandIn()
        form = urlencode({"refresh_token": self.stand_in.refresh_token}).encode()
        token = json.loads(self.stand_in(Call("POST", "/token", {}, form)).body)["access_token"]
        self.headers = {"authorization": f"Bearer {token}"}

    def __call__(self, method, path, body=None):
        answer = self.stand_in(
            Call(method, f"{ME}{path}", self.headers, json.dumps(body or {}).encode())
        )
        return answer.status, json.loads(answer.body)


@pytest.fixture
def asked() -> Asked:
    return Asked()


def test_labels_are_changed(asked: Asked):
    mail_id = asked.stand_in.deliver(b"Subject: s\r\n\r\nx")

    changes = {"addLabelIds": ["DONE", "INBOX"], "removeLabelIds": ["INBOX"]}
    _, found = asked("POST", f"/messages/{mail_id}/modify", changes)

    assert found["labelIds"] == ["DONE", "INBOX"]


def test_attachments_are_handed_out_by_their_place(asked: Asked):
    (sample,) = [each for each in mailbox() if each.name == "english-nested-multipart"]
    mail_id = asked.stand_in.deliver(sample.raw)

    status, found = asked("GET", f"/messages/{mail_id}/attachments/0")

    assert (status, base64.urlsafe_b64decode(found["data"])) == (200, b"%PDF-1.7 not read")
    assert asked("GET", f"/messages/{mail_id}/attachments/7")[0] == 404


def test_a_watch_begins_where_the_history_stands(asked: Asked):
    asked.stand_in.deliver(b"Subject: s\r\n\r\nx")

    assert asked("POST", "/watch", {"topicName": "t"})[1]["historyId"] == asked.stand_in.history_id


@pytest.mark.parametrize("path", ["/drafts", "/messages/1/2/3"])
def test_what_it_does_not_know_is_not_found(asked: Asked, path):
    assert asked("GET", path)[0] == 404


def test_a_token_of_nobodys_is_refused(asked: Asked):
    asked.headers = {"authorization": "Bearer made-up"}

    assert asked("GET", "/profile")[0] == 401


def test_a_history_that_makes_no_sense_is_refused(asked: Asked):
    assert asked("GET", "/history?startHistoryId=abc")[0] == 400
