"""What becomes of a mail, stage by stage, on the engine."""
