"""A purge that is killed before its n-th statement: `python dying_purge.py URL any:N`.

With a statement's name in place of `any` only those of that name are counted. It prints the
statements it got to run, so that a test knows when there are no more to die at.
"""

import os
import signal
import sys

from holdfast.core.values.retention import Retention
from holdfast.engine.opening import store_of
from holdfast.store.tables.retention import Place, RetentionRows


class Dying:
    """Statements that are run as they are, until one is the last."""

    def __init__(self, real, name, left):
        self._real = real
        self._name = name
        self._left = left

    def rows(self, statement, values):
        self._reach(statement)
        return self._real.rows(statement, values)

    def count(self, statement, values):
        self._reach(statement)
        return self._real.count(statement, values)

    def transact(self, work):
        return self._real.transact(lambda steps: work(Dying(steps, self._name, self._left)))

    def _reach(self, statement):
        self._left[0] -= self._name in (statement, "any")
        if self._left[0] == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        print(statement, flush=True)


def main() -> None:
    url, (name, _, number) = sys.argv[1], sys.argv[2].partition(":")
    store = store_of(url)
    rows = RetentionRows(Dying(store.retention._sql, name, [int(number)]))
    cutoffs = Retention(complete=0, cancelled=0, failed=0).cutoffs(store.read_clock())
    place = Place()
    while place is not None:
        place = rows.purge(cutoffs, place, limit=3).next
    store.close()


if __name__ == "__main__":
    main()
