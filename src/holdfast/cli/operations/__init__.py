"""Commands about deliveries, messages, queues, upstreams, workers and tokens."""
