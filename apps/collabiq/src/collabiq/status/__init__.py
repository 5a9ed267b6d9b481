"""How the system is, for people and for Prometheus."""
