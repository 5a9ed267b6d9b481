"""How people are told: what a mail says, and through whom it goes."""
