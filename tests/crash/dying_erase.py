"""An erasure that is killed before its n-th statement: `python dying_erase.py URL OWNER N`."""

import sys

from holdfast import Holdfast
from holdfast.store.tables.erasure import ErasureRows
from tests.crash.dying_purge import Dying


def main() -> None:
    url, owner, number = sys.argv[1:]
    with Holdfast(url) as app:
        app.store.erasure = ErasureRows(Dying(app.store.erasure._sql, "any", [int(number)]))
        app.erase(owner, by="grace", cancel=True)


if __name__ == "__main__":
    main()
