"""The fault lab, for development only: stand-in upstreams that fail when set to.

It is mounted by `holdfast dev` and by nothing else. Stand-ins listen on loopback.
"""
