"""Upstreams: breakers, rates and the evidence they go by."""
