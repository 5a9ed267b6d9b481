"""Stand-ins for what collabiq calls: they speak the real wire, so that the real SDKs call them."""
