"""What users declare: pipelines, their stages and upstreams, and how handlers are called."""
