"""A library as an older version left it: `python -m tests.storage.saved_library` packs a new one, with the version that is checked out.

The archive next to this file was made by version 0.1.0 (commit 438e049), whose ledger had other tables.
"""

from __future__ import annotations

import subprocess
import sys
import tarfile
import tempfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

ARCHIVE = Path(__file__).with_name("saved_library.tar.xz")

MAKE = """
import sys
import reelbook as rb
from PIL import Image

def dot(colour):
    return rb.ImagesToVideo(images=[rb.Frame(url=Image.new("RGB", (16, 16), colour), frames=1)])

with rb.connect(library=sys.argv[1]):
    rb.run(dot("red"))
    rb.sweep(dot("red"), fps=[1, 2]).run(budget=2 * 53)
    try:
        rb.run(rb.TextToVideo(prompt="a naked man", num_frames=9, resolution="480p", aspect_ratio="1:1"))
    except rb.ReelbookError as error:
        print("failed:", error)
"""
LOSE = """
import sys
import reelbook as rb
rb.connect(sys.argv[2], api_key="a key of this script", library=sys.argv[1])
rb.run(rb.TextToVideo(prompt="a boat", num_frames=9, seed=1))
"""


class Silent(BaseHTTPRequestHandler):
    """A service that takes the paid request and never answers it."""

    arrived = threading.Event()

    def do_GET(self) -> None:
        self.send_response(404)
        self.send_header("content-length", "0")
        self.end_headers()

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        if not self.path.endswith("/models/run"):
            self.do_GET()
            return
        self.arrived.set()
        threading.Event().wait()

    def log_message(self, format: str, *args: object) -> None:
        """Nothing."""


def main() -> None:
    """Make the library and pack it."""
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder) / ".reelbook"
        subprocess.run([sys.executable, "-c", MAKE, str(library)], check=True, timeout=120)
        server = ThreadingHTTPServer(("127.0.0.1", 0), Silent)
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}"
        process = subprocess.Popen([sys.executable, "-c", LOSE, str(library), address])
        assert Silent.arrived.wait(60)
        process.kill()
        process.wait()
        server.shutdown()
        with tarfile.open(ARCHIVE, "w:xz") as archive:
            archive.add(library, ".reelbook")


if __name__ == "__main__":
    main()
