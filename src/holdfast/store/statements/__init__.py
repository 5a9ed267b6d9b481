"""How statements are found, run, timed and limited."""
