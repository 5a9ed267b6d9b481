"""Why a job waits, what a dead letter needs, what a delivery is about: for every door."""
