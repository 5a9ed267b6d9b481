"""What every store must do about dead letters and replays."""
