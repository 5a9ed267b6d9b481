"""What the measures of collabiq share: a mailbox, a watched Notion, and mails of long ago."""
