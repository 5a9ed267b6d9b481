"""RabbitMQ brokers for tests."""
