"""Pages about jobs and their queues."""
