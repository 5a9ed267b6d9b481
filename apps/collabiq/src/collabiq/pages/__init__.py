"""The page of collabiq: mails, what needs a look, what failed, and how the services are."""
