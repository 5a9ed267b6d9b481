from tests.architecture import states


def test_the_page_about_states_says_what_the_code_does():
    assert states.PAGE.read_text("utf-8") == states.rendered(), (
        "run: python -m tests.architecture.states"
    )


def test_every_event_has_its_meaning_on_the_page():
    assert list(states.EVENT_MEANINGS) == list(states.EVENTS)
