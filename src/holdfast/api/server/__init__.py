"""How the API is served: sockets, threads, readiness."""
