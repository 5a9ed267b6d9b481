"""What every store must do, as tests that a store of your own can run.

    from holdfast.testing.conformance import StoreConformance

    class TestMyStore(StoreConformance):
        @pytest.fixture
        def store(self):
            store = MyStore(...)
            store.migrate()
            yield store
            store.close()

Each test gets an empty, migrated store. Override the fixture `other_store` to give the tests a
second store on the same database, with connections of its own; without it they share one.
"""

import pkgutil

import pytest

pytest.register_assert_rewrite(
    *(module.name for module in pkgutil.iter_modules(__path__, f"{__name__}."))
)

from holdfast.testing.conformance.suite import StoreConformance  # noqa: E402 - rewritten first

__all__ = ["StoreConformance"]
