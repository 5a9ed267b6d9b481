"""What is found in a text, whatever it is scored for."""
