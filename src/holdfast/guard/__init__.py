"""The policies of an upstream around a call without a job."""
