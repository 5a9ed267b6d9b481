from collections.abc import Callable, Iterator

import pytest

from apps.criticizer.tests.change_server import ROPE_DIFF
from apps.criticizer.tests.llm_server import LlmServer
from criticizer.change import Change
from criticizer.reviewers.contract import Reviewed
from criticizer.reviewers.model import Limits, ModelReviewer, Prices
from tests.first_use import OnFirstUse

through_anthropic = OnFirstUse("criticizer.reviewers.anthropic")
through_openai = OnFirstUse("criticizer.reviewers.openai")

KEY = "sk-t0k3n-t0k3n-t0k3n-t0k3n"


@pytest.fixture
def llm() -> Iterator[LlmServer]:
    with LlmServer() as serving:
        yield serving


@pytest.fixture(params=["openai", "anthropic"])
def dialect(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def made_reviewer(llm: LlmServer, dialect: str) -> Callable[..., ModelReviewer]:
    """Makes reviewers that ask the server, in each dialect."""

    def made(*, limits: Limits | None = None, prices: Prices | None = None, **options):
        given = {"key": KEY, "prices": prices or Prices(), **options}
        if dialect == "openai":
            model = through_openai.OpenAIModel("test-model", url=llm.base_url, **given)
        else:
            model = through_anthropic.AnthropicModel("test-model", url=llm.url, **given)
        return ModelReviewer(model, limits=limits or Limits())

    return made


@pytest.fixture
def reviewer(made_reviewer: Callable[..., ModelReviewer]) -> ModelReviewer:
    return made_reviewer()


@pytest.fixture
def reviewed() -> Callable[..., Reviewed]:
    def review(
        reviewer, diff=ROPE_DIFF, *, token="job-1", repair=False, timeout_s=30.0, headers=None
    ):
        return reviewer.review(
            Change(diff=diff, title="Add a loop"),
            timeout_s=timeout_s,
            repair=repair,
            token=token,
            headers=headers or {},
        )

    return review
