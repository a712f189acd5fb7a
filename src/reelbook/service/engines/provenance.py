"""Where a file comes from, written into the file itself: model, input, seed and engine."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from xml.sax.saxutils import quoteattr

from PIL import Image
from PIL.PngImagePlugin import PngInfo

LONGEST_TEXT = 4000
"""Longer texts are shortened in the file; a data URI would otherwise put the source picture into its own result."""

_SOURCE_TYPE = "http://cv.iptc.org/newscodes/digitalsourcetype/algorithmicMedia"
_SOFTWARE_TAG, _DESCRIPTION_TAG, _EXIF_BLOCK, _COMMENT_TAG = 0x0131, 0x010E, 0x8769, 0x9286


@dataclass(frozen=True, slots=True)
class Provenance:
    """What a file says of its own making. The same run always says the same, so its bytes stay the same."""

    endpoint_id: str
    input: Mapping[str, Any]
    seed: int | None
    engine: str
    engine_version: str

    @property
    def software(self) -> str:
        return f"reelbook {self.engine} {self.engine_version}"

    def as_json(self) -> str:
        """The whole record, compact and in a fixed order."""
        record = {
            "endpointId": self.endpoint_id,
            "input": _shortened(dict(self.input)),
            "seed": self.seed,
            "engine": self.engine,
            "engineVersion": self.engine_version,
        }
        return json.dumps(record, ensure_ascii=False, sort_keys=True, separators=(",", ":"))

    def parameters(self) -> str:
        """The form that picture tools read: the prompt, then the settings on one line."""
        prompt = _shortened(self.input.get("prompt", ""))
        return f"{prompt}\nSeed: {self.seed}, Model: {self.endpoint_id}, Software: {self.software}"

    def xmp(self) -> bytes:
        """An XMP packet that says the medium was made by an algorithm."""
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
        exif[_DESCRIPTION_TAG] = self.as_json()
        exif.get_ifd(_EXIF_BLOCK)[_COMMENT_TAG] = b"UNICODE\0" + self.parameters().encode("utf-16-be")
        return exif.tobytes()

    def save_options(self, image_format: str) -> dict[str, Any]:
        """What to hand to Pillow's `save` for `png`, `jpeg` or `webp`."""
        return {"pnginfo": self.png()} if image_format == "png" else {"exif": self.exif(), "xmp": self.xmp()}

    def mp4(self) -> dict[str, str]:
        """The tags of an MP4; `comment` is the one that survives every writer."""
        return {"comment": self.as_json(), "title": _shortened(self.input.get("prompt", ""))[:200]}


def _shortened(value: Any) -> Any:
    if isinstance(value, str) and len(value) > LONGEST_TEXT:
        digest = hashlib.sha256(value.encode()).hexdigest()
        if value.startswith("data:"):
            return f"data:{value[5:60].partition(',')[0]},sha256={digest}"
        return f"{value[:LONGEST_TEXT]}… (sha256={digest})"
    if isinstance(value, dict):
        return {name: _shortened(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_shortened(item) for item in value]
    return value
