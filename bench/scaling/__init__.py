"""Claims in front of a long history: how the history is made, and how claims are timed."""
