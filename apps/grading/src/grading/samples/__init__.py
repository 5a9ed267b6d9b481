"""Sample answers with the bands that they should get."""
