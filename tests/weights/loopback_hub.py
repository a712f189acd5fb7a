"""A fake hub on loopback: the few addresses that huggingface_hub 2.4 asks, because no real one can be reached here."""

from __future__ import annotations

import hashlib
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote, urlsplit

COMMIT = "0123456789abcdef0123456789abcdef01234567"
CARD = b"---\nlicense: other\nlicense_name: tiny-open-weights\n---\n# Tiny\n"
LARGE = 1000
"""Files from this size on are stored elsewhere, as on the real hub, and have their sha256 as etag."""


def tensors(length: int) -> bytes:
    """A safetensors file with so many bytes of numbers."""
    header = json.dumps({"a": {"dtype": "U8", "shape": [length], "data_offsets": [0, length]}}).encode()
    return len(header).to_bytes(8, "little") + header + bytes(number % 251 for number in range(length))


FILES = {
    "README.md": CARD, "LICENSE.md": b"Tiny License\n\nYou may \x1b[2Jtest.\n", "model_index.json": b"{}", "run.py": b"raise SystemExit",
    "vae/config.json": b"{}", "vae/model.safetensors": tensors(5_000), "vae/model.fp16.safetensors": tensors(50), "vae/model.bin": b"pickle",
    "transformer/model-1.safetensors": tensors(400_000), "transformer/model-2.safetensors": tensors(3_000),
    "tokenizer/spiece.model": b"pieces", "tokenizer/tokenize.py": b"raise SystemExit", "whole-13b.safetensors": tensors(90),
}  # fmt: skip
WANTED = {
    "README.md", "LICENSE.md", "model_index.json", "vae/config.json", "vae/model.safetensors", "transformer/model-1.safetensors",
    "transformer/model-2.safetensors", "tokenizer/spiece.model",
}  # fmt: skip


class LoopbackHub:
    """Two servers: the hub, and the storage to which it redirects for large files."""

    def __init__(self) -> None:
        self.files = dict(FILES)
        self.flipped: set[str] = set()
        """Files that arrive with one byte changed."""
        self.stalls: str | None = None
        """A file of which only the first half is sent, until `go_on` is set."""
        self.halfway, self.go_on = threading.Event(), threading.Event()
        self.asked: list[tuple[str, str, str, str | None]] = []
        """Server, method, address and token of each request."""
        self._servers = [ThreadingHTTPServer(("127.0.0.1", 0), self._handler(name)) for name in ("hub", "storage")]
        for server in self._servers:
            server.daemon_threads = True
            threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        self.url, self.storage = (f"http://127.0.0.1:{server.server_port}" for server in self._servers)

    def close(self) -> None:
        """End both servers."""
        self.go_on.set()
        for server in self._servers:
            server.shutdown()
            server.server_close()

    def fetched(self) -> list[str]:
        """The names of the files whose content was asked for."""
        return [
            address.partition(f"{COMMIT}/")[2]
            for _, method, address, _ in self.asked
            if method == "GET" and "/api/" not in address
        ]

    def _handler(self, name: str) -> type[BaseHTTPRequestHandler]:
        hub = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *arguments: object) -> None:
                """Nothing."""

            def do_HEAD(self) -> None:
                self._answer()

            def do_GET(self) -> None:
                self._answer()

            def _answer(self) -> None:
                path = unquote(urlsplit(self.path).path)
                hub.asked.append((name, self.command, path, self.headers.get("authorization")))
                if "/tree/" in path:
                    return self._send(
                        200,
                        json.dumps([hub._entry(one) for one in hub.files]).encode(),
                        {"Content-Type": "application/json"},
                    )
                file = path.partition(f"{COMMIT}/")[2]
                if file not in hub.files:
                    return self._send(404, b"", {"X-Error-Code": "EntryNotFound"})
                content, digest = hub.files[file], hub.digest(file)
                if name == "hub" and len(content) >= LARGE:
                    headers = {
                        "Location": f"{hub.storage}/{COMMIT}/{file}",
                        "X-Linked-ETag": f'"{digest}"',
                        "X-Linked-Size": str(len(content)),
                    }
                    return self._send(302, b"", {**headers, "X-Repo-Commit": COMMIT})
                if file in hub.flipped:
                    content = content[:-1] + bytes([content[-1] ^ 1])
                return self._send(
                    200, content, {"ETag": f'"{digest}"', "X-Repo-Commit": COMMIT}, stalls=file == hub.stalls
                )

            def _send(self, status: int, content: bytes, headers: dict[str, str], *, stalls: bool = False) -> None:
                self.send_response(status)
                for key, value in {**headers, "Content-Length": str(len(content))}.items():
                    self.send_header(key, value)
                self.end_headers()
                if self.command == "HEAD":
                    return
                if stalls:
                    self.wfile.write(content[: len(content) // 2])
                    self.wfile.flush()
                    hub.halfway.set()
                    hub.go_on.wait(30)
                    self.close_connection = True
                    return
                self.wfile.write(content)

        return Handler

    def digest(self, name: str) -> str:
        """The hash of a file as the hub states it: sha256 of large files, that of git for small ones."""
        content = self.files[name]
        if len(content) >= LARGE:
            return hashlib.sha256(content).hexdigest()
        return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()

    def _entry(self, name: str) -> dict[str, object]:
        content, digest = self.files[name], self.digest(name)
        entry: dict[str, object] = {"type": "file", "path": name, "size": len(content), "oid": digest[:40]}
        if len(content) >= LARGE:
            entry["lfs"] = {"oid": digest, "size": len(content), "pointerSize": 130}
        return entry
