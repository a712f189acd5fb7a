"""The test for public IP addresses, applied to every URL from an untrusted source."""

from __future__ import annotations

import ipaddress

NOT_PUBLIC = tuple(
    ipaddress.ip_network(text)
    for text in (
        "192.0.0.0/24",  # Protocol assignments; Python treats some as global, and clouds serve credentials there.
        "192.88.99.0/24",  # 6to4 relays.
        "168.63.129.16/32",  # A public address that is the virtual machine's host in one large cloud.
        "2001::/23",  # Teredo and similar, which embed IPv4 addresses.
        "2002::/16",  # 6to4, the same.
        "3fff::/20",  # Documentation; newer than some supported Pythons.
    )
)
"""Networks that `ipaddress` wrongly treats as global, or that are tunnelled to others."""


def is_public(address: str) -> bool:
    """Whether an IP address is an ordinary address of the public internet, by allow-list.

    `ipaddress.is_global` alone accepts multicast, and tunnels into private networks.

    >>> is_public("93.184.216.34"), is_public("10.0.0.1"), is_public("64:ff9b::a00:1"), is_public("224.0.0.1")
    (True, False, False, False)
    """
    try:
        ip = ipaddress.ip_address(address)
    except ValueError:
        return False
    if not ip.is_global or ip.is_multicast or ip.is_reserved or any(ip in network for network in NOT_PUBLIC):
        return False
    if isinstance(ip, ipaddress.IPv4Address):
        return True
    # 2000::/3 is all of the public IPv6 internet. A zone marks link-local addresses; ISATAP embeds IPv4.
    is_tunnel = int(ip) >> 32 & 0xFDFFFFFF == 0x5EFE
    return ip in ipaddress.ip_network("2000::/3") and ip.scope_id is None and not is_tunnel
