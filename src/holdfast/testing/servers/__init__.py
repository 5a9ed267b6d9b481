"""What servers of tests have in common: programs, ports, users, a lossy proxy."""
