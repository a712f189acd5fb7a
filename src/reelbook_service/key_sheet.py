"""The printable sheet of keys: one A4 strip for each student, to be cut apart."""

from __future__ import annotations

import socket
from collections.abc import Iterable
from urllib.parse import urlsplit

from markupsafe import Markup

from reelbook.util.loopback import is_loopback

from .class_admin import NewKey

FIRST_RUN = 'rb.run(rb.TextToVideo(prompt="a paper boat on a rainy street", num_frames=49))'
QUIET_ZONE = 4
"""The white modules around a QR code that readers need."""


def connect_line(address: str, key: str) -> str:
    """The first line that a student types.

    >>> connect_line("http://10.0.0.5:8600", "rb-2345")
    'import reelbook as rb; rb.connect("http://10.0.0.5:8600", api_key="rb-2345")'
    """
    return f'import reelbook as rb; rb.connect("{address}", api_key="{key}")'


def format_unreachable(address: str) -> str:
    """A sentence where only this machine can reach an address; empty for all others."""
    return f"Only this machine can reach {address}: students at other computers cannot." if is_loopback(address) else ""


def reachable_address(address: str) -> str:
    """The address of a service as other machines in the network reach it: none of them can call 0.0.0.0."""
    parts = urlsplit(address)
    if parts.hostname not in ("0.0.0.0", "::"):
        return address
    is_v6 = parts.hostname == "::"
    # Nothing is sent to find the address of this machine in its network.
    with socket.socket(socket.AF_INET6 if is_v6 else socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("2001:db8::1" if is_v6 else "192.0.2.1", 9))
            host = str(probe.getsockname()[0])
        except OSError:
            host = "::1" if is_v6 else "127.0.0.1"
    return f"{parts.scheme}://{f'[{host}]' if is_v6 else host}:{parts.port}"


def board_link(address: str, token: str) -> str:
    """The link that opens the board."""
    return f"{address}/class/login?token={token}"


def render_key_sheet(keys: Iterable[NewKey], address: str, *, nonce: str = "", back: str = "") -> str:
    """A page with a strip for each key: name, address, key, budget and dates, the two lines to type, and a QR code of the first.

    It needs nothing from elsewhere, so that it prints offline. On the board it has the `nonce` of the answer, and a link `back`.
    """
    from .pages import render  # Only sheets need it here.

    lines = [(key, connect_line(address, key.key)) for key in keys]
    return render(
        "key_sheet.html",
        address=address,
        unreachable=format_unreachable(address),
        run=FIRST_RUN,
        strips=[(key, line.split(", ", 1), render_qr_code(line)) for key, line in lines],
        nonce=nonce,
        back=back,
    )


def render_qr_code(text: str) -> Markup:
    """A QR code of a text, as SVG."""
    import segno  # Only sheets need it.

    code = segno.make(text, error="m", micro=False, boost_error=False)
    svg = code.svg_inline(border=QUIET_ZONE, omitsize=True, svgclass="qr", lineclass=None)
    return Markup(svg.replace("<svg", '<svg role="img" aria-label="QR code of the first line"', 1))
