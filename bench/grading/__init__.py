"""The grading system, and the same contract on plain Celery with an outbox that is polled."""
