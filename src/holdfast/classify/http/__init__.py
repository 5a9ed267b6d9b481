"""HTTP: what a status means, and the exceptions of its clients."""
