"""The services that stages call, and what was read of Notion for all mails."""
