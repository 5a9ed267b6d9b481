"""From events to decisions that are applied, and to those who listen."""
