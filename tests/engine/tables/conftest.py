from collections.abc import Callable
from pathlib import Path

import pytest

FIRST = """
-- What was ordered; one statement for each database would be one too many.
create table shop.orders (
    id     text   not null primary key,
    goods  text   not null,
    pieces bigint not null,
    weight double precision,
    label  bytea
);

create index shop_orders_by_goods on shop.orders (goods);
"""


@pytest.fixture
def tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., dict[str, str]]:
    """Makes a package of SQL files for the system `shop`, and returns what `Holdfast` takes."""
    monkeypatch.syspath_prepend(tmp_path)
    made = 0

    def make(*texts: str, names: tuple[str, ...] = ()) -> dict[str, str]:
        nonlocal made
        made += 1
        package = f"tables_of_shop_{made}"
        (tmp_path / package).mkdir()
        for number, text in enumerate(texts or (FIRST,), 1):
            name = names[number - 1] if names else f"{number:04d}_step.sql"
            (tmp_path / package / name).write_text(text)
        return {"shop": package}

    return make
