"""How a recording comes from another host, within limits."""
