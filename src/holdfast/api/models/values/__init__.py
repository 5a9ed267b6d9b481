"""Values that the models of several nouns use."""
