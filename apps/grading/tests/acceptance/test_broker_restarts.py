from pathlib import Path

import pytest

from apps.grading.tests.brokered import broker_config, grader_running, main_running
from apps.grading.tests.running import wait_for
from apps.grading.tests.sides import ScriptedAssessor, scripted_tools
from holdfast.testing.rabbitmq.server import PrivateRabbitmq

pytestmark = [pytest.mark.slow, pytest.mark.timeout(400)]
LIMIT_S = 120.0


def test_both_sides_start_without_the_broker_and_everything_is_published_once_it_is_back(
    sqlite_url: str, tmp_path: Path, rabbitmq_server: PrivateRabbitmq
):
    config = broker_config(rabbitmq_server.url, tmp_path)
    assessor = ScriptedAssessor()
    graders = f"sqlite:///{tmp_path / 'grader.db'}"
    rabbitmq_server.stop()
    with (
        main_running(sqlite_url, config) as main,
        grader_running(graders, config, scripted_tools(assessor)),
    ):
        ids = [main.submit(owner=f"o{number}") for number in range(5)]
        wait_for(lambda: main.submissions.operations().outbox_pending == 5, limit_s=LIMIT_S)
        connected = main.submissions.operations().broker_connected
        rabbitmq_server.start()
        views = [main.ended(each, limit_s=LIMIT_S) for each in ids]
        rabbitmq_server.restart()
        again = main.ended(main.submit(), limit_s=LIMIT_S)

    assert connected is not True
    assert {view.status for view in (*views, again)} == {"COMPLETED"}
    assert len(assessor.calls) == 6
