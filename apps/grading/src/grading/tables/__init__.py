"""The tables of grading, made with the engine's own."""
