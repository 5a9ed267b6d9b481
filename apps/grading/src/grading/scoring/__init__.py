"""From evidence to scores: pure, so that the same evidence always gives the same result."""
