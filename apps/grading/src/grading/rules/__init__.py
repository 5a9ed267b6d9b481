"""What code decides without a model."""
