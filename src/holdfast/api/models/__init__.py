"""What requests and answers look like, one file for each noun."""
