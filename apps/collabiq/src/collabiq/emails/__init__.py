"""Mails as people and programs see them, and what is done to them."""
