"""What every service stands on: clock, supervisor, failpoints, wakeups."""
