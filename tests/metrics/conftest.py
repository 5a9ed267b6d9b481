from collections.abc import Callable, Iterator

import pytest
from prometheus_client.parser import text_string_to_metric_families

from holdfast import Holdfast
from holdfast.metrics import Exposition, Scope


class Scrapes:
    """Metrics as a scraper reads them, never from a cache."""

    def __init__(self, app: Holdfast, *, fresh_s: float = 0) -> None:
        self.exposition = Exposition(app, fresh_s=fresh_s)
        self.exposition.begin()

    def text(self, scope: Scope | None = None) -> str:
        return self.exposition.page(scope=scope).body.decode()

    def samples(self, scope: Scope | None = None) -> dict[str, dict[tuple, float]]:
        """Return values by name of the sample, then by labels in the order of their names.

        Counters that have not risen are left out.
        """
        found: dict[str, dict[tuple, float]] = {}
        for family in text_string_to_metric_families(self.text(scope)):
            for sample in family.samples:
                if sample.name.endswith("_total") and not sample.value:
                    continue
                labels = tuple(value for _, value in sorted(sample.labels.items()))
                found.setdefault(sample.name, {})[labels] = sample.value
        return found


@pytest.fixture
def scrapes() -> Iterator[Callable[..., Scrapes]]:
    """Begins to count what an app does."""
    made = []

    def make(app: Holdfast, **options) -> Scrapes:
        made.append(Scrapes(app, **options))
        return made[-1]

    yield make
    for each in made:
        each.exposition.close()
