"""Where handlers run: an event loop, threads, killable processes."""
