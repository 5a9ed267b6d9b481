"""The converter over HTTP: what is sent, asked for and answered."""
