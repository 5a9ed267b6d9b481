"""The mailbox: which mails are new, and when they are taken."""
