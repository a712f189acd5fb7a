"""Addresses: which ones only this machine can reach, and how one is spelled."""

from __future__ import annotations

import ipaddress
import posixpath
from urllib.parse import urlsplit

_PORTS = {"http": ":80", "https": ":443"}


def is_loopback(address: str) -> bool:
    """Whether an address is a loopback address."""
    try:
        host = (urlsplit(address).hostname or "").rstrip(".")
        return host == "localhost" or host.endswith(".localhost") or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def normalise_address(address: str) -> str:
    """An address in canonical spelling, which is the name of a hosted service in the ledger.

    >>> normalise_address("HTTPS://Host.Example:443/api//v1/"), normalise_address("http://localhost:8000")
    ('https://host.example/api/v1', 'http://127.0.0.1:8000')

    Without a port, the address of a hosted service names the same service with and without encryption.

    >>> normalise_address("http://host.example")
    'https://host.example'
    """
    try:
        parts = urlsplit(address.strip())
        host, port = (parts.hostname or "").rstrip("."), parts.port
    except ValueError:
        return _escape(address)
    if not host:
        return _escape(address)
    at = "" if port is None or f":{port}" == _PORTS.get(parts.scheme) else f":{port}"
    scheme = parts.scheme if at or is_loopback(address) else "https"
    host = "127.0.0.1" if is_loopback(address) else f"[{host}]" if ":" in host else host
    path = posixpath.normpath("/" + parts.path.strip("/"))
    return _escape(f"{scheme}://{host}{at}{'' if path == '/' else path}")


def _escape(address: str) -> str:
    """An address with lone surrogates escaped, which no file can store."""
    return address.encode(errors="backslashreplace").decode()
