"""What a request may contain, and how lists are paged."""
