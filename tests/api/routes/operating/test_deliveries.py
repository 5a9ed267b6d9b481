"""Deliveries and outbox messages over HTTP."""

from holdfast import Pipeline
from holdfast.deliveries import DeliveryState, Notify
from holdfast.testing import drain
from holdfast.testing.conformance.deliveries import logged
from tests.api.routes.operating.desk import NOBODY


def test_a_delivery_is_told_without_its_message_and_with_its_recipient_masked(desk):
    delivery = desk.delivery(to="jane@example.test")

    told = desk("reader").get(f"/api/deliveries/{delivery}")

    assert told.status_code == 200
    assert (told.json()["subject"], told.json()["state"]) == ("review-1", "intent")
    assert "jane@example.test" not in told.text
    assert "hello" not in told.text


def test_a_delivery_has_the_log_of_its_sends_and_lookups(desk):
    delivery = desk.delivery()
    row = desk.app.store.deliveries.get(delivery)
    desk.app.store.deliveries.apply([row], log=[logged(row)])

    (line,) = desk("reader").get(f"/api/deliveries/{delivery}").json()["log"]

    assert (line["attempt"], line["outcome"], line["http_status"]) == (1, "in_doubt", 503)
    assert (line["worker"], line["error_class"]) == ("courier-1", "UPSTREAM_5XX")


def test_a_person_says_what_became_of_a_delivery(desk):
    delivery = desk.delivery()

    resolved = desk().post(
        f"/api/deliveries/{delivery}/resolve", json={"word": "sent", "reason": "she has it"}
    )
    again = desk().post(f"/api/deliveries/{delivery}/resolve", json={"word": "fail"})

    assert (resolved.status_code, resolved.json()["state"]) == (200, "sent")
    assert (again.status_code, again.json()["code"]) == (409, "wrong_state")
    (action,) = desk().get(f"/api/deliveries/{delivery}").json()["actions"]
    assert (action["by"], action["action"], action["reason"]) == (
        "operator of all",
        "sent",
        "she has it",
    )


def test_deliveries_are_found_by_what_they_are_and_come_page_by_page(desk):
    ids = [desk.delivery(subject=f"review-{n}", to=f"jane{n}@example.test") for n in range(3)]
    reader = desk("reader")

    def found(query):
        return [item["id"] for item in reader.get(f"/api/deliveries?{query}").json()["items"]]

    assert found("") == ids[::-1]
    assert found("subject=review-1") == [ids[1]]
    assert found("recipient=jane2@example.test") == [ids[2]]
    assert found("state=sent&state=failed") == []
    assert found("provider=mail&version=1&state=intent") == ids[::-1]
    first = reader.get("/api/deliveries?limit=2")
    rest = reader.get(first.links["next"]["url"]).json()
    assert [item["id"] for item in rest["items"]] == ids[:1]
    assert rest["next_cursor"] is None


def test_a_delivery_belongs_to_the_owner_of_its_job(desk):
    telling = Pipeline("telling")

    @telling.stage
    def tell(job):
        return Notify(subject="done", recipients=["jane@example.test"], message={"text": "done"})

    desk.app.add(telling)
    desk.app.submit("telling", owner="a")
    loose = desk.delivery()
    drain(desk.app)
    of_a, of_b = desk("operator", "a"), desk("operator", "b")

    (mine,) = of_a.get("/api/deliveries").json()["items"]

    assert mine["subject"] == "done"
    assert of_b.get("/api/deliveries").json()["items"] == []
    assert of_b.get(f"/api/deliveries/{mine['id']}").status_code == 404
    refused = of_b.post(f"/api/deliveries/{mine['id']}/resolve", json={"word": "resend"})
    assert refused.status_code == 404
    assert of_a.get(f"/api/deliveries/{loose}").status_code == 404
    assert desk.app.deliveries.get(mine["id"]).state is DeliveryState.SENT


def test_messages_are_told_with_how_the_outbox_stands(desk):
    ids = [desk.app.publish("made", {"n": n}, aggregate_id=f"a-{n}") for n in range(3)]
    desk.clock.advance(5)

    page = desk("reader").get("/api/outbox?limit=2")

    assert [item["id"] for item in page.json()["items"]] == ids[:0:-1]
    assert (page.json()["pending"], page.json()["failed"]) == (3, 0)
    assert page.json()["items"][0]["waiting_s"] == 5.0
    assert page.json()["items"][0]["payload"] == {"n": 2}
    rest = desk("reader").get(page.links["next"]["url"]).json()
    assert [item["id"] for item in rest["items"]] == ids[:1]
    one = desk("reader").get("/api/outbox?aggregate_id=a-1&message_type=made&status=pending")
    assert [item["id"] for item in one.json()["items"]] == [ids[1]]


def test_a_message_is_tried_again_and_that_is_on_record(desk):
    message = desk.app.publish("made", {"n": 1})

    tried = desk().post(f"/api/outbox/{message}/retry", json={"reason": "the broker is back"})
    unknown = desk().post(f"/api/outbox/{NOBODY}/retry")

    assert (tried.status_code, tried.json()["id"]) == (200, message)
    assert (unknown.status_code, unknown.json()["code"]) == (404, "message_not_found")
    (entry,) = desk().get(f"/api/audit?subject_kind=message&subject={message}").json()["items"]
    assert (entry["action"], entry["reason"]) == ("retried", "the broker is back")


def test_a_message_is_found_by_its_id(desk):
    message = desk.app.publish("made", {"n": 1}, aggregate_id="a")

    told = desk("reader").get(f"/api/outbox/{message}")

    assert (told.status_code, told.json()["aggregate_id"]) == (200, "a")
