"""The messages between the two sides, version 1: all that they share."""
