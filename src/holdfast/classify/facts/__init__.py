"""What exceptions and answers tell: where they come from, and what they say."""
