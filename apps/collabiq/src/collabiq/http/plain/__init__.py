"""Plain pages for browsers without scripts: mails, dead letters, health and rules, with forms."""
