"""Where a file comes from, written into the file itself: model, input, seed and engine."""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote_to_bytes
from xml.sax.saxutils import quoteattr

from PIL import Image
from PIL.PngImagePlugin import PngInfo

LONGEST_TEXT = 4000
"""Longer texts are shortened in the file; a data URI would otherwise put the source picture into its own result."""

MAX_ASCII = 40_000
"""Of the 64 KiB of an EXIF block; the settings stand beside it."""

_SOURCE_TYPE = "http://cv.iptc.org/newscodes/digitalsourcetype/algorithmicMedia"
_SOFTWARE_TAG, _DESCRIPTION_TAG, _EXIF_BLOCK, _COMMENT_TAG = 0x0131, 0x010E, 0x8769, 0x9286


@dataclass(frozen=True, slots=True)
class Provenance:
    """Provenance metadata of a file. It is the same for the same run, so its bytes stay the same."""

    endpoint_id: str
    input: Mapping[str, Any]
    seed: int | None
    engine: str
    engine_version: str

    @property
    def software(self) -> str:
        return f"reelbook {self.engine} {self.engine_version}"

    def as_json(self, *, ascii_only: bool = False, longest: int = LONGEST_TEXT) -> str:
        """The whole record, compact and in a fixed order."""
        record = {
            "endpointId": self.endpoint_id,
            "input": _shortened(dict(self.input), longest),
            "seed": self.seed,
            "engine": self.engine,
            "engineVersion": self.engine_version,
        }
        return json.dumps(record, ensure_ascii=ascii_only, sort_keys=True, separators=(",", ":"))

    def parameters(self) -> str:
        """The form that picture tools read: the prompt, then the settings on one line."""
        prompt = _shortened(self.input.get("prompt", ""))
        return f"{prompt}\nSeed: {self.seed}, Model: {self.endpoint_id}, Software: {self.software}"

    def xmp(self) -> bytes:
        """An XMP packet that states that the medium was made by an algorithm."""
        return (
            '<?xpacket begin="\ufeff" id="W5M0MpCehiHzreSzNTczkc9d"?>'
            '<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">'
            '<rdf:Description rdf:about="" xmlns:xmp="http://ns.adobe.com/xap/1.0/" '
            'xmlns:Iptc4xmpExt="http://iptc.org/std/Iptc4xmpExt/2008-02-29/" '
            f"xmp:CreatorTool={quoteattr(self.software)} Iptc4xmpExt:DigitalSourceType={quoteattr(_SOURCE_TYPE)}/>"
            '</rdf:RDF></x:xmpmeta><?xpacket end="w"?>'
        ).encode()

    def png(self) -> PngInfo:
        """The text chunks of a PNG: `Image.save(pnginfo=…)`."""
        info = PngInfo()
        info.add_itxt("parameters", self.parameters())
        info.add_itxt("generation", self.as_json())
        info.add_itxt("XML:com.adobe.xmp", self.xmp().decode())
        return info

    def exif(self) -> bytes:
        """The EXIF block of a JPEG or WebP: `Image.save(exif=…, xmp=…)`."""
        exif = Image.Exif()
        exif[_SOFTWARE_TAG] = self.software
        exif[_DESCRIPTION_TAG] = self._as_ascii()
        exif.get_ifd(_EXIF_BLOCK)[_COMMENT_TAG] = b"UNICODE\0" + self.parameters().encode("utf-16-be")
        return exif.tobytes()

    def _as_ascii(self) -> str:
        """The record for a place that holds ASCII, where other letters take twelve times the room, and that is small."""
        for longest in (LONGEST_TEXT, LONGEST_TEXT // 4, LONGEST_TEXT // 16):
            text = self.as_json(ascii_only=True, longest=longest)
            if len(text) <= MAX_ASCII:
                break
        return text

    def save_options(self, image_format: str) -> dict[str, Any]:
        """What to hand to Pillow's `save` for `png`, `jpeg` or `webp`."""
        return {"pnginfo": self.png()} if image_format == "png" else {"exif": self.exif(), "xmp": self.xmp()}

    def mp4(self) -> dict[str, str]:
        """The tags of an MP4; `comment` is the one that survives every writer."""
        return {"comment": self.as_json(), "title": _shortened(self.input.get("prompt", ""))[:200]}


def _shortened(value: Any, longest: int = LONGEST_TEXT) -> Any:
    if isinstance(value, str) and len(value) > longest:
        if value.startswith("data:"):
            # Of the picture itself, so that it can be found again in a library.
            return f"data:{value[5:60].partition(',')[0]},sha256={hashlib.sha256(_content(value)).hexdigest()}"
        return f"{value[:longest]}… (sha256={hashlib.sha256(value.encode()).hexdigest()})"
    if isinstance(value, dict):
        return {name: _shortened(item, longest) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_shortened(item, longest) for item in value]
    return value


def _content(url: str) -> bytes:
    head, _, body = url.partition(",")
    try:
        return base64.b64decode(body, validate=True) if head.endswith(";base64") else unquote_to_bytes(body)
    except binascii.Error:
        return url.encode()
