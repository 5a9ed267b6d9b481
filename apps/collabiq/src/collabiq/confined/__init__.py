"""Mails are parsed in processes of their own, which are killed when one takes too long."""
