"""Files signed by their maker with C2PA, and the state that the C2PA library finds them in. All of it works offline."""

from __future__ import annotations

import io
import json
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any

import c2pa
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from tests.media.making import grain, plain

TYPES = {
    "mp4": "video/mp4", "png": "image/png", "jpeg": "image/jpeg", "jpg": "image/jpeg", "webp": "image/webp",
    "gif": "image/gif", "tiff": "image/tiff", "avif": "image/avif", "wav": "audio/wav",
}  # fmt: skip
FOUR = ("mp4", "png", "jpeg", "webp")
TRAINED = "http://cv.iptc.org/newscodes/digitalsourcetype/trainedAlgorithmicMedia"
OFFLINE = {"remote_manifest_fetch": False, "ocsp_fetch": False}


@dataclass(frozen=True)
class Maker:
    """Whoever signs: a certificate from a root of its own, and the private key."""

    chain: str
    key: str
    root: str


@cache
def maker(organization: str = "Acme Video GmbH", name: str = "Acme Signer", days: int = 30) -> Maker:
    """A maker whose certificate is valid for so many days from now; it has ended where they are negative."""
    root_key, key = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
    root = _certificate("Test authority", "Test root", root_key, None, days=365)
    leaf = _certificate(organization, name, key, (root, root_key), days=days)
    chain = "".join(one.public_bytes(Encoding.PEM).decode() for one in (leaf, root))
    secret = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
    return Maker(chain, secret, root.public_bytes(Encoding.PEM).decode())


def _certificate(
    organization: str,
    name: str,
    key: ec.EllipticCurvePrivateKey,
    issuer: tuple[x509.Certificate, ec.EllipticCurvePrivateKey] | None,
    *,
    days: int,
) -> x509.Certificate:
    """A certificate as C2PA asks for it: of a root that signs others, or of somebody who signs content."""
    subject = x509.Name([
        x509.NameAttribute(NameOID.COUNTRY_NAME, "DE"),
        x509.NameAttribute(NameOID.ORGANIZATION_NAME, organization),
        x509.NameAttribute(NameOID.COMMON_NAME, name),
    ])  # fmt: skip
    is_root, now = issuer is None, datetime.now(UTC)
    by, signing = (subject, key) if issuer is None else (issuer[0].subject, issuer[1])
    usage = dict.fromkeys(
        ("content_commitment", "key_encipherment", "data_encipherment", "key_agreement", "encipher_only", "decipher_only"),
        False,
    )  # fmt: skip
    made = (
        x509.CertificateBuilder(by, subject, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(days=400))
        .not_valid_after(now + timedelta(days=days))
        .add_extension(x509.BasicConstraints(is_root, None), True)
        .add_extension(
            x509.KeyUsage(digital_signature=not is_root, key_cert_sign=is_root, crl_sign=is_root, **usage), True
        )
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(signing.public_key()), False)
    )
    if not is_root:
        made = made.add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.EMAIL_PROTECTION]), True)
    return made.sign(signing, hashes.SHA256())


def signed(
    content: bytes,
    suffix: str,
    by: Maker | None = None,
    *,
    source_type: str | None = TRAINED,
    generator: str = "Acme Generator",
    remote: str = "",
) -> bytes:
    """The content signed; `remote` leaves the manifest out and names where it would be."""
    by = by or maker()
    action: dict[str, Any] = {"action": "c2pa.created", **({"digitalSourceType": source_type} if source_type else {})}
    manifest = {
        "claim_generator_info": [{"name": generator, "version": "2.1"}],
        "title": "clip",
        "assertions": [{"label": "c2pa.actions.v2", "data": {"actions": [action]}}],
    }
    options = {"builder": {"thumbnail": {"enabled": False}}, "verify": {**OFFLINE, "verify_after_sign": False}}
    info = c2pa.C2paSignerInfo(b"es256", by.chain.encode(), by.key.encode(), None)
    target = io.BytesIO()
    with (
        c2pa.Signer.from_info(info) as signer,
        c2pa.Context.from_dict(options) as context,
        c2pa.Builder(json.dumps(manifest), context=context) as builder,
    ):
        if remote:
            builder.set_no_embed()
            builder.set_remote_url(remote)
        builder.sign(signer, TYPES[suffix.lstrip(".")], io.BytesIO(content), target)
    return target.getvalue()


def state_of(content: bytes, suffix: str, by: Maker | None = None) -> str:
    """What the C2PA library says of the file, with the root of this maker trusted: `Trusted`, `Valid` or `Invalid`."""
    return str(report_of(content, suffix, by)["validation_state"])


def report_of(content: bytes, suffix: str, by: Maker | None = None) -> dict[str, Any]:
    """All that the C2PA library says of the file."""
    options = {"trust": {"user_anchors": (by or maker()).root}, "verify": {**OFFLINE, "verify_trust": True}}
    with (
        c2pa.Context.from_dict(options) as context,
        c2pa.Reader(TYPES[suffix.lstrip(".")], io.BytesIO(content), context=context) as reader,
    ):
        return dict(json.loads(reader.json()))


def signed_file(path: Path, by: Maker | None = None, **others: Any) -> Path:
    """A signed file of the kind that its name says."""
    kind = path.suffix[1:]
    if kind in FOUR:
        plain(path)
    else:
        grain().save(path, kind)
    path.write_bytes(signed(path.read_bytes(), kind, by, **others))
    return path
