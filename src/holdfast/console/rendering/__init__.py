"""From what a page says to HTML: templates, filters, static files."""
