"""Commands about the database, the settings and the installation."""
