"""criticizer: reviews a change and tells everyone once."""
