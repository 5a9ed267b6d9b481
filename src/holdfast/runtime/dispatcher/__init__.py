"""Jobs for the worker processes of another system, such as a Celery fleet."""
