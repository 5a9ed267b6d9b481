"""Jobs: their states, events and plans, and the one function that decides about them."""
