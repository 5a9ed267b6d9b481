"""What every command uses: the program, its options, output and exit codes."""
