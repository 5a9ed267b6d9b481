"""Files for those who run grading: a dashboard for Grafana, and rules for Prometheus."""
