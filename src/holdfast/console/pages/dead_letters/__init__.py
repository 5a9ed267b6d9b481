"""Pages about dead letters and replays."""
