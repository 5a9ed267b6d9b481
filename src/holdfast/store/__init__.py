"""Where jobs are kept: one contract, two databases."""
