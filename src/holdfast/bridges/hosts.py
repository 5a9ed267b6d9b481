"""Which machines an address reaches: this one, others of ours, or the public network."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address
from typing import Final

_NAT64: Final = IPv6Network("64:ff9b::/96")


def is_loopback(host: str) -> bool:
    """Return whether a host, as a URL names it, is this machine."""
    if host.lower().rstrip(".") == "localhost":
        return True
    try:
        return _inner(ip_address(host.strip("[]"))).is_loopback
    except ValueError:
        return False


def is_public(address: str) -> bool:
    """Return whether an IP address lies in the public network and nowhere else."""
    found = _inner(ip_address(address.partition("%")[0]))
    return found.is_global and not found.is_multicast


def _inner(address: IPv4Address | IPv6Address) -> IPv4Address | IPv6Address:
    """Return the IPv4 address that an IPv6 address stands for, where it does."""
    if isinstance(address, IPv4Address):
        return address
    if address in _NAT64:
        return IPv4Address(int(address) & 0xFFFF_FFFF)
    return address.ipv4_mapped or address.sixtofour or address
