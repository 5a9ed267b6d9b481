"""What an exception means for the job whose handler raised it."""
