"""Where uploads and results are kept: in folders, or in S3-compatible storage."""
