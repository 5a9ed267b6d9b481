"""The command line: `holdfast`. It asks the engine and prints; it decides nothing."""
