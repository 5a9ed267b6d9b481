import pytest

from grading.config import GradingConfig
from grading.relaying import relay_options
from grading.states import Skill
from grading.system import SYSTEM
from holdfast.errors import InvalidSetting
from holdfast.presets import CAPPED, THREE_TRIALS


def read(**given: str) -> GradingConfig:
    return GradingConfig.from_environment(given)


def test_the_defaults_are_those_of_the_document():
    config = read()

    assert (config.sla_s(Skill.WRITING), config.sla_s(Skill.SPEAKING)) == (1_200, 3_600)
    assert (config.outbox_poll_s, config.outbox_batch_size, config.outbox_stale_s) == (5, 50, 60)
    assert (config.retry, config.breaker) == (CAPPED, THREE_TRIALS)
    assert (config.audio_max_bytes, config.audio_max_s) == (26_214_400, 600)
    assert (config.submissions_per_minute, config.quota_active) == (10, 20)
    assert (config.uploads_per_minute, config.audio_quota_bytes) == (20, 1_073_741_824)
    assert (config.review_below, config.walk_ins, config.is_embedded) == (0, True, True)


def test_everything_can_be_set():
    config = read(
        AMQP_URL="amqp://broker/",
        GRADING_RUNNER="worker",
        GRADING_EXCHANGE="vstep.exchange",
        GRADING_EXCHANGE_TYPE="direct",
        GRADING_TOPOLOGY="check",
        RETRY_MAX_RETRIES="1",
        RETRY_CAP_MS="60000",
        CIRCUIT_WINDOW="10",
        CIRCUIT_FAIL_THRESHOLD="0.25",
        CIRCUIT_COOLDOWN_MS="1000",
        CIRCUIT_TRIALS="1",
        SLA_WRITING_MS="40000",
        GRADING_AUDIO_HOSTS="a.example, B.example",
        GRADING_WALK_INS="0",
        GRADING_REVIEW_BELOW="85",
        PUBLIC_URL="https://grading.example/",
        LLM_RUNS="3",
    )

    assert not config.is_embedded
    assert (config.exchange, config.exchange_type, config.declares_topology) == (
        "vstep.exchange",
        "direct",
        False,
    )
    assert (config.retry.attempts, config.retry.cap) == (2, 60)
    assert (config.breaker.over_calls, config.breaker.trials) == (10, 1)
    assert config.audio_hosts == ("a.example", "b.example")
    assert config.public_url == "https://grading.example"
    assert (config.walk_ins, config.review_below, config.llm.runs) == (False, 85, 3)


def test_the_lab_is_in_a_hurry_unless_somebody_says_otherwise():
    assert read(HOLDFAST_LAB="1").sla_writing_s == 40
    assert read(HOLDFAST_LAB="1", SLA_WRITING_MS="90000").sla_writing_s == 90


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("GRADING_RUNNER", "threads"),
        ("SLA_WRITING_MS", "soon"),
        ("PUBLIC_URL", "grading.example"),
        ("GRADING_REVIEW_BELOW", "101"),
    ],
)
def test_what_cannot_be_read_names_its_variable(name: str, value: str):
    with pytest.raises(InvalidSetting) as error:
        read(**{name: value})

    assert error.value.field == name


def test_with_a_broker_main_is_alone_and_without_one_both_sides_are_here():
    alone = SYSTEM.build({"AMQP_URL": "amqp://broker/"})
    both = SYSTEM.build({})

    assert [pipeline.name for pipeline in alone.pipelines] == ["submission"]
    assert sorted(alone.services) == ["callbacks", "relay"]
    assert [pipeline.name for pipeline in both.pipelines] == [
        "submission",
        "grade",
        "grade-speaking",
    ]
    assert sorted(both.services) == ["relay"]
    assert set(alone.message_types) == {"grading.request", "grading.callback", "grading.dlq"}


def test_relays_take_as_many_and_as_often_as_is_set():
    usual = relay_options(read())
    other = relay_options(read(OUTBOX_BATCH_SIZE="7", OUTBOX_POLL_INTERVAL_MS="250"))

    assert (usual.batch_size, usual.poll_interval, usual.stale_threshold) == (50, 5.0, 60.0)
    assert (other.batch_size, other.poll_interval) == (7, 0.25)
