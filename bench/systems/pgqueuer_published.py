"""PgQueuer with the settings of its own benchmark, which its published figures were taken with."""

import uvloop

from bench.program import main
from bench.systems.pgqueuer import PgQueuerSystem

if __name__ == "__main__":
    main(
        PgQueuerSystem(
            "PgQueuer (published)",
            dequeuers=5,
            batch_size=10,
            workloads=["drain-one-stage"],
        ),
        run_async=uvloop.run,
    )
