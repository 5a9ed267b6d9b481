"""One program per system under test; the protocol they speak is in `bench/program.py`."""
