"""The parts of a store that both databases share, one file for each noun."""
