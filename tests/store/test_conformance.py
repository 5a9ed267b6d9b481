import pytest

from holdfast.store.contract import Store
from holdfast.testing.conformance import StoreConformance


class TestStore(StoreConformance):
    @pytest.fixture
    def other_store(self, other_store: Store) -> Store:
        return other_store
