"""Values that every noun uses: instants, ids, documents, failures, policies."""
