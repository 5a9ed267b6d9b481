"""The pure heart: no clock, no chance, no I/O, nothing but the standard library."""
