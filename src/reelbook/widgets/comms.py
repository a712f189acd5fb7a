"""What every widget of a form or a studio has to see to with its connection to the page."""

from __future__ import annotations

from typing import Any


def close_layout(widget: Any) -> None:
    """Close what a widget has brought along: ipywidgets leaves its layout open."""
    widget.layout.close()


def forget_reply_thread(widget: Any) -> None:
    """Let the page's messages to a widget be handled where all are.

    ipykernel 7.4 remembers the thread that spoke last on a comm and sends the page's messages there, also when it is gone.
    """
    getattr(widget.comm, "__dict__", {}).pop("_reply_subshell_id", None)
