"""Files for those who run holdfast: a dashboard for Grafana, and rules for Prometheus."""
