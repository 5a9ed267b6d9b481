"""The exceptions of databases and their drivers."""
