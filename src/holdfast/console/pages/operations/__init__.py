"""Pages about deliveries, messages, upstreams, workers and what people did."""
