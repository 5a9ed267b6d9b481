"""Where the gateway is: the address that an operator wrote, and the machines it may lead to.

An operator may well run the gateway on the same machine or in a private network. No gateway lives
where machines of a cloud ask for their credentials, at addresses of one link, or at no address.
"""

from __future__ import annotations

import re
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address
from typing import Final
from urllib.parse import urlsplit

from holdfast.errors import InvalidSetting

_EXAMPLE: Final = "like http://127.0.0.1:8091 or https://gateway.example.org/api"
_NAME: Final = re.compile(r"[A-Za-z0-9_](?:[A-Za-z0-9_.-]{0,251}[A-Za-z0-9_])?\.?")
# What ends in a number is an address, and there are odd ways to write those: 0x7f.1, 2130706433.
_NUMBER_AT_END: Final = re.compile(r"(?:.*\.)?(?:[0-9]+|0[xX][0-9A-Fa-f]*)\.?")
_PATH: Final = re.compile(r"[A-Za-z0-9._~/-]*")
_NAT64: Final = IPv6Network("64:ff9b::/96")
_METADATA: Final = IPv6Address("fd00:ec2::254")


class AddressRefused(OSError):
    """The name of the gateway leads to an address that no gateway has."""


def checked_url(url: str, *, variable: str) -> str:
    """Return the address of a gateway without a slash at its end.

    Raises `InvalidSetting` that names the variable for anything but plain HTTP or HTTPS.
    """
    try:
        parts = urlsplit(url.strip())
        fine = (
            parts.scheme in {"http", "https"}
            and "@" not in parts.netloc
            and not parts.query
            and not parts.fragment
            and parts.port != 0
            and _is_host(parts.hostname or "", netloc=parts.netloc)
            and _PATH.fullmatch(parts.path) is not None
            and ".." not in parts.path
            and url.isprintable()
        )
    except ValueError:
        fine = False
    if not fine:
        # Credentials do not belong there, and not into an error either.
        shown = url.rpartition("@")[2]
        raise InvalidSetting("environment", field=variable, value=shown, limit=_EXAMPLE)
    return url.strip().rstrip("/")


def admit(address: str) -> None:
    """Raise `AddressRefused` for an IP address that no gateway has."""
    found = _inner(ip_address(address.partition("%")[0]))
    if found.is_link_local or found.is_multicast or found.is_unspecified or found == _METADATA:
        raise AddressRefused(f"the gateway's name leads to {address}, where no gateway can be")


def _is_host(host: str, *, netloc: str) -> bool:
    try:
        admit(host)
    except AddressRefused:
        return False
    except ValueError:
        if "[" in netloc or _NUMBER_AT_END.fullmatch(host):
            return False
        return _NAME.fullmatch(host) is not None and ".." not in host
    return True


def _inner(address: IPv4Address | IPv6Address) -> IPv4Address | IPv6Address:
    """Return the IPv4 address that an IPv6 address stands for, where it does."""
    if isinstance(address, IPv4Address):
        return address
    if address in _NAT64:
        return IPv4Address(int(address) & 0xFFFF_FFFF)
    return address.ipv4_mapped or address.sixtofour or address
