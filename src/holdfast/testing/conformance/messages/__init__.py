"""What every store must do about the outbox and the inbox."""
