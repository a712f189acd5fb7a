"""Workarounds for the connection of a widget to its page."""

from __future__ import annotations

from typing import Any


def close_layout(widget: Any) -> None:
    """Close the layout of a widget, which ipywidgets leaves open."""
    widget.layout.close()


def forget_reply_thread(widget: Any) -> None:
    """Handle the page's messages to a widget on the default thread.

    ipykernel 7.4 remembers the thread that last sent on a comm and dispatches the page's messages there, even after it has ended.
    """
    getattr(widget.comm, "__dict__", {}).pop("_reply_subshell_id", None)
