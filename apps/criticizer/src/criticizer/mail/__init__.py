"""How people are notified: what a mail says, and through whom it goes."""
