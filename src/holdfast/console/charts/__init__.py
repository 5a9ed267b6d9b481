"""Charts as SVG, drawn here."""
