"""Commands about dead letters and their replays."""
