"""The kind of source that a copy names in its XMP: true, once, and beside whatever others have written there."""

from __future__ import annotations

import re
import struct
from hashlib import sha256
from pathlib import Path
from xml.etree import ElementTree

import pytest
from PIL import Image
from PIL.PngImagePlugin import PngInfo

from reelbook.media.metadata.file_marks import ALGORITHMIC, COMPOSITE, SYNTHETIC, TRAINED, read_marks
from reelbook.media.metadata.provenance import read, write, write_sidecar
from reelbook.models.images_to_video import ImagesToVideo
from tests.media.makers import signed_file
from tests.media.making import FACTS, KINDS, content, grain, plain, signed

IPTC = "{http://iptc.org/std/Iptc4xmpExt/2008-02-29/}DigitalSourceType"
RDF = "{http://www.w3.org/1999/02/22-rdf-syntax-ns#}"
THEIRS = (
    '<?xpacket begin="\ufeff" id="W5M0MpCehiHzreSzNTczkc9d"?><x:xmpmeta xmlns:x="adobe:ns:meta/">'
    '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"><rdf:Description rdf:about="" '
    'xmlns:dc="http://purl.org/dc/elements/1.1/" dc:rights="© Jane"/>{}</rdf:RDF></x:xmpmeta>'
    + " " * 2000
    + '<?xpacket end="w"?>'
)
CAPTURE = "http://cv.iptc.org/newscodes/digitalsourcetype/digitalCapture"
NAMED = (
    '<rdf:Description rdf:about="" xmlns:a="http://iptc.org/std/Iptc4xmpExt/2008-02-29/">'
    f"<a:DigitalSourceType>{CAPTURE}</a:DigitalSourceType></rdf:Description>"
)


def packets(path: Path) -> list[bytes]:
    """The XMP packets of a film as the standard says, or the one that Pillow finds in a picture."""
    if path.suffix == ".mp4":
        data, found, start = path.read_bytes(), [], 0
        while start < len(data):
            (size,) = struct.unpack_from(">I", data, start)
            if data[start + 4 : start + 24] == b"uuid" + bytes.fromhex("be7acfcb97a942e89c71999491e3afac"):
                found.append(data[start + 24 : start + size])
            start += size
        return found
    with Image.open(path) as picture:
        packet = picture.info.get("xmp", b"")
    return [packet if isinstance(packet, bytes) else packet.encode()]


def types_in(path: Path) -> list[str]:
    """Every source type that its one packet names, whichever way, read by an XML parser."""
    (packet,) = packets(path)
    root = ElementTree.fromstring(re.sub(rb"<\?xpacket.*?\?>", b"", packet).strip())
    found = [one.get(IPTC) for one in root.iter(f"{RDF}Description") if one.get(IPTC)]
    return [str(one) for one in found] + [str(one.text) for one in root.iter(IPTC)]


def with_xmp(path: Path, packet: str) -> Path:
    """A plain file with a packet of somebody else's in it."""
    if path.suffix == ".png":
        info = PngInfo()
        info.add_itxt("XML:com.adobe.xmp", packet, zip=True)
        grain().save(path, pnginfo=info)
    elif path.suffix == ".mp4":
        body = bytes.fromhex("be7acfcb97a942e89c71999491e3afac") + packet.encode()
        film = plain(path, movflags="").read_bytes()
        start = film.index(b"ftyp") - 4 + struct.unpack_from(">I", film)[0]
        # Behind all others, so that nothing of the film moves, and before a box that is in the way.
        assert start > 0
        path.write_bytes(film + struct.pack(">I4s", len(body) + 8, b"uuid") + body + struct.pack(">I4s", 8, b"free"))
    else:
        grain().save(path, xmp=packet.encode())
    return path


@pytest.mark.parametrize("kind", KINDS)
def test_a_copy_says_how_it_was_made(kind: str, tmp_path: Path) -> None:
    """By a generative model, in IPTC's word; by our engines, which draw without trained weights; of nobody known nothing."""
    hosted, own, unknown = (tmp_path / f"{name}.{kind}" for name in ("hosted", "own", "unknown"))
    source = plain(tmp_path / f"boat.{kind}")

    write(source, hosted, FACTS)
    write(signed(tmp_path / f"painted.{kind}"), own, FACTS)
    write(source, unknown, {"request_id": "r-1"})

    assert types_in(hosted) == [TRAINED] == ["http://cv.iptc.org/newscodes/digitalsourcetype/trainedAlgorithmicMedia"]
    assert types_in(own) == [ALGORITHMIC]
    assert read_marks(unknown).source_type == ""
    assert [str(read_marks(path)) for path in (source, hosted, own)] == ["unsigned", "ai-marked", "unsigned"]
    assert read(hosted).request_id == FACTS["request_id"]
    assert content(hosted) == content(source)


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_that_others_have_marked_is_copied_byte_for_byte(kind: str, tmp_path: Path) -> None:
    """Its record is next to it; also where the packet is compressed; and so is one with what is no packet in its place."""
    for packet in ("this is no XMP", THEIRS.format(NAMED)):
        source = with_xmp(tmp_path / f"boat.{kind}", packet)

        write(source, tmp_path / f"copy.{kind}", FACTS)

        assert (tmp_path / f"copy.{kind}").read_bytes() == source.read_bytes()
    assert types_in(source) == [CAPTURE]
    assert read_marks(source).source_type == "digitalCapture"
    write_sidecar(source, tmp_path / f"copy.{kind}", FACTS)
    assert read(tmp_path / f"copy.{kind}").request_id == FACTS["request_id"]


@pytest.mark.parametrize("kind", KINDS)
def test_the_packet_of_others_stays_and_takes_the_mark_in(kind: str, tmp_path: Path) -> None:
    """One packet with both."""
    source = with_xmp(tmp_path / f"boat.{kind}", THEIRS.format(""))
    assert len(packets(source)) == 1

    for target in (tmp_path / f"copy.{kind}", tmp_path / f"again.{kind}"):
        write(source, target, FACTS)
        source = target

    assert types_in(source) == [TRAINED]
    assert 'dc:rights="© Jane"' in packets(source)[0].decode()
    assert read(source).request_id == FACTS["request_id"]
    assert content(source) == content(tmp_path / f"boat.{kind}")
    assert (tmp_path / f"copy.{kind}").read_bytes() == source.read_bytes()


@pytest.mark.parametrize("by_generative_model", [False, True])
def test_a_joined_film_is_a_composite_and_keeps_the_mark_of_its_pictures(
    tmp_path: Path, by_generative_model: bool
) -> None:
    """Joining photographs generates nothing; joining generated pictures must not hide that they are."""
    picture = signed_file(tmp_path / "picture.png", source_type=TRAINED if by_generative_model else CAPTURE)
    name = sha256(picture.read_bytes()).hexdigest()
    picture.rename(tmp_path / f"{name}.png")
    film = plain(tmp_path / "film.mp4")

    write(
        film,
        tmp_path / "copy.mp4",
        {"model": ImagesToVideo.endpoint_id, "input": {"images": [{"url": f"sha256:{name}"}]}},
    )

    assert types_in(tmp_path / "copy.mp4") == [SYNTHETIC if by_generative_model else COMPOSITE]
    assert read_marks(tmp_path / "copy.mp4").is_ai_marked == by_generative_model
