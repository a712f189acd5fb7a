"""Sign copies with the user's certificate, using the C2PA library without network access."""

from __future__ import annotations

import json
import os
import warnings
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

from ..._version import __version__
from ...errors import ReelbookError
from ...models.file_kinds import HEAD_BYTES, sniff_kind
from ...settings import Signing

SIGNABLE = ("image/png", "image/jpeg", "image/webp", "image/gif", "image/tiff", "image/avif", "image/heic", "video/mp4", "video/quicktime")  # fmt: skip
"""The kinds of files that the library signs."""
_ENV = "env:"
_CURVES = {"secp256r1": "es256", "secp384r1": "es384", "secp521r1": "es512"}
"""C2PA's names of the algorithms; all others sign with RSA or Ed25519."""
_OPTIONS = {
    "builder": {"thumbnail": {"enabled": False}},
    "verify": {"remote_manifest_fetch": False, "ocsp_fetch": False, "verify_trust": False},
}
_INSTEAD = "Nothing was written, and the original is where it was; rb.options.sign = None saves without a signature."


def write_signed(source: IO[bytes], target: IO[bytes], signing: Signing, source_type: str) -> bool:
    """Write a signed copy of the file to the target; false if its format cannot be signed.

    The signature states that Reelbook made the copy, of this digital source type; if that is unknown, that it opened the
    file.
    """
    source.seek(0)
    head = source.read(HEAD_BYTES)
    kind = "video/quicktime" if head[4:12] == b"ftypqt  " else sniff_kind(head).content_type
    if kind not in SIGNABLE:
        warnings.warn("A file of this kind cannot be signed here; its copy has no signature.", stacklevel=2)
        return False
    with suppress(ImportError):
        import c2pa

        chain, key, algorithm = _credentials(signing)
        info = c2pa.C2paSignerInfo(algorithm.encode(), chain, key, None)
        source.seek(0)
        try:
            with (
                c2pa.Signer.from_info(info) as signer,
                c2pa.Context.from_dict(_OPTIONS) as context,
                c2pa.Builder(json.dumps(_manifest(source_type)), context=context) as builder,
            ):
                if not source_type:
                    builder.set_intent(c2pa.C2paBuilderIntent.EDIT)
                builder.sign(signer, kind, source, target)
            return True
        except c2pa.C2paError as error:
            raise ReelbookError(
                f"The copy could not be signed with {signing.certificate} ({str(error)[:200]}). Check that the certificate is one "
                f"for signing content, valid today, with the whole chain in the file, and that the key belongs to it. {_INSTEAD}"
            ) from None
    raise ReelbookError(f"Signing needs the C2PA library: pip install 'reelbook[sign]', then try again. {_INSTEAD}")


def _manifest(source_type: str) -> dict[str, Any]:
    actions = [{"action": "c2pa.created", "digitalSourceType": source_type}] if source_type else []
    return {
        "claim_generator_info": [{"name": "Reelbook", "version": __version__}],
        "assertions": [{"label": "c2pa.actions.v2", "data": {"actions": actions}}] if actions else [],
    }


def _credentials(signing: Signing) -> tuple[bytes, bytes, str]:
    """The chain and the key in the library's format, and the name of the algorithm."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
    from cryptography.hazmat.primitives.serialization import (
        Encoding,
        NoEncryption,
        PrivateFormat,
        load_pem_private_key,
    )

    chain = _text(signing.certificate, "certificate")
    try:
        key: Any = load_pem_private_key(_text(signing.key, "private key"), password=None)
    except (TypeError, ValueError):
        raise _signing_error("The private key is not in PEM format, or is protected by a password") from None
    algorithm = _CURVES.get(key.curve.name) if hasattr(key, "curve") else None
    if isinstance(key, (RSAPrivateKey, Ed25519PrivateKey)):
        algorithm = "ps256" if isinstance(key, RSAPrivateKey) else "ed25519"
    if algorithm is None:
        raise _signing_error("C2PA signs with keys of P-256, P-384, P-521, Ed25519 and RSA, and this is another kind")
    return chain, key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()), algorithm


def _text(source: str, what: str) -> bytes:
    """The content of a file, or of an environment variable."""
    if source.startswith(_ENV):
        value = os.environ.get(source.removeprefix(_ENV), "")
        if not value:
            raise _signing_error(
                f"The {what} is to be in the environment as {source.removeprefix(_ENV)}, which is not set"
            )
        return value.encode()
    try:
        return Path(source).expanduser().read_bytes()
    except (OSError, ValueError, RuntimeError) as error:
        reason = getattr(error, "strerror", None) or "no such path"
        raise _signing_error(f"The {what} cannot be read from {source} ({reason})") from None


def _signing_error(what: str) -> ReelbookError:
    return ReelbookError(f"{what}, so the copy could not be signed. {_INSTEAD}")
