"""Hands messages to a broker, and takes answers to waiting stages."""
