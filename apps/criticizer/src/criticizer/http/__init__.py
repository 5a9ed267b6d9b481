"""The criticizer's part of the API."""
