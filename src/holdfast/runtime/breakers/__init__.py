"""Breakers and rates of upstreams as a worker uses them."""
