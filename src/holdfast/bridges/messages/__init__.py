"""How messages travel, and what is done with those that arrive; no broker is known here."""
