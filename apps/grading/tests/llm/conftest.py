from collections.abc import Callable, Iterator

import pytest

from apps.grading.tests.llm.grading_llm_server import GradingLlm
from grading.llm import Assessor, LlmConfig, open_assessor
from grading.llm.task import AssessTask
from grading.questions import packaged

KEY = "sk-t0k3n-t0k3n-t0k3n-t0k3n"
TEXT = "Tourism is good for local people because it creates jobs. PLANTED-7f3a."
TASK = AssessTask.of(packaged().get("w2-tourism"), TEXT)


@pytest.fixture
def llm() -> Iterator[GradingLlm]:
    with GradingLlm() as serving:
        yield serving


@pytest.fixture
def made_assessor(llm: GradingLlm) -> Callable[..., Assessor]:
    def made(**options):
        usual = {"base_url": llm.base_url, "api_key": KEY, "model": "m"}
        return open_assessor(LlmConfig(**(usual | options)))

    return made


@pytest.fixture
def assess(made_assessor: Callable[..., Assessor]) -> Callable:
    def call(task=TASK, *, token="job-1.assess", timeout_s=30.0, headers=None, **options):
        assessor = made_assessor(**options)
        return assessor.assess(task, token=token, timeout_s=timeout_s, headers=headers or {})

    return call
