"""Signatures: Ed25519 over a DSSE envelope. The only home of public-key cryptography.

A DSSE envelope carries a payload, its type, and signatures over both::

    {"payload": "<base64>", "payloadType": "application/vnd.in-toto+json", "signatures": [{"keyid": "…", "sig":
    "<base64>"}]}

What is signed is the *pre-authentication encoding*, in which type and payload cannot run into each other (`encoded`).
The key identifier is the SHA-256 of the public key as DER; it helps to find a key and is never believed.

Invariants
    I1  A private key that others can read is refused: any other reader could sign with it.
    I2  A payload is looked at only after its signature was found valid, except by those who say that they did not check
        it.

>>> encoded("text/plain", b"hello")
b'DSSEv1 10 text/plain 5 hello'


Statement
---------
The signed statement of a release: an in-toto Statement about every file of the folder, in a DSSE envelope.

::

    {"_type": "https://in-toto.io/Statement/v1",
     "subject": [{"name": "certificate.json", "digest": {"sha256": "…"}}, …], "predicateType": "urn:sfumato:release:v1",
     "predicate": {"form": "recoded table", "version": "…", "holds": true, "claims": […], "ledger": {"release": 3,
     "head": "…"}}}

Who has the public key of the data holder can tell a folder from a forgery without the original, and without believing
anything in the folder. A requirement is a finding of the certificate: model, given, hide, required, achieved, holds,
grade.

Invariants
    I1  The subjects are all files of the folder: manifest, certificate and report included, only the statement itself
        and ``target.json`` (written later, when the release is loaded, and bound to the manifest by itself) excepted.
    I2  The predicate says what the manifest and the certificate of the folder say; a statement that says more does not
        fit.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import os
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from sfumato.core.errors import PolicyError, ReleaseError
from sfumato.core.wording import Worded, Wording
from sfumato.io.file_contents import parse_json
from sfumato.io.plain_files import digest, files_of, printable_name, read_tree
from sfumato.release.certificate import Finding
from sfumato.release.folder import CERTIFICATE, MANIFEST, STATEMENT, TARGET, write_json

PASSPHRASE = "SFUMATO_KEY_PASSPHRASE"  # noqa: S105 - the name of a variable, not its value
"""The environment variable with the passphrase of a private key."""
MOST_SIGNATURES = 64
LARGEST_KEY = 1 << 16


def encoded(kind: str, payload: bytes) -> bytes:
    """The pre-authentication encoding: what is signed."""
    name = kind.encode()
    return b"DSSEv1 %d %b %d %b" % (len(name), name, len(payload), payload)


@dataclass(frozen=True, slots=True)
class SigningKey:
    """An Ed25519 private key."""

    secret: Ed25519PrivateKey = field(repr=False)

    @classmethod
    def read(cls, path: str | Path) -> SigningKey:
        """The key in a file that only its owner can read: PEM, or as OpenSSH writes it."""
        hint = "give an Ed25519 private key: openssl genpkey -algorithm ed25519 -out key.pem"
        content = _private_bytes(Path(path))
        password = os.environ.get(PASSPHRASE, "").encode() or None
        load = (
            serialization.load_ssh_private_key
            if b"OPENSSH PRIVATE KEY" in content
            else serialization.load_pem_private_key
        )
        try:
            key = load(content, password)
        except TypeError:
            which = "is encrypted" if password is None else "is not encrypted"
            hint = f"{'set' if password is None else 'unset'} {PASSPHRASE}"
            raise PolicyError(f"the signing key {which}", where=str(path), hint=hint) from None
        except (ValueError, UnsupportedAlgorithm):
            raise PolicyError("the signing key cannot be read", where=str(path), hint=hint) from None
        if not isinstance(key, Ed25519PrivateKey):
            raise PolicyError("the signing key is no Ed25519 key", where=str(path), hint=hint)
        return cls(key)

    @property
    def public(self) -> VerifyingKey:
        return VerifyingKey(self.secret.public_key())

    def envelope(self, kind: str, payload: bytes) -> dict[str, Any]:
        """A payload in its signed envelope."""
        signature = self.secret.sign(encoded(kind, payload))
        signed = [{"keyid": self.public.identifier, "sig": base64.b64encode(signature).decode()}]
        return {"payload": base64.b64encode(payload).decode(), "payloadType": kind, "signatures": signed}


def new_key_pair() -> tuple[bytes, bytes]:
    """Return a new private key and its public key, both as PEM; the caller must keep the private file unreadable for
    others (I1).
    """
    secret = Ed25519PrivateKey.generate()
    plain = serialization.NoEncryption()
    private = secret.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, plain)
    public = serialization.PublicFormat.SubjectPublicKeyInfo
    return private, secret.public_key().public_bytes(serialization.Encoding.PEM, public)


def _private_bytes(path: Path) -> bytes:
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        raise PolicyError("no such signing key", where=str(path), hint="give the path of a private key") from None
    with os.fdopen(handle, "rb") as file:
        mode = os.fstat(handle).st_mode  # of what was opened, not of what may stand there by now
        if not stat.S_ISREG(mode):
            raise PolicyError(
                "the signing key is no plain file", where=str(path), hint="give the path of a private key"
            )
        if mode & 0o077:  # I1
            raise PolicyError(
                "others can read the signing key", where=str(path), hint=f"chmod 600 {path.name}, or make a new one"
            )
        return file.read(LARGEST_KEY)


@dataclass(frozen=True, slots=True)
class VerifyingKey:
    """An Ed25519 public key."""

    public: Ed25519PublicKey = field(repr=False)

    @classmethod
    def read(cls, given: str | Path) -> VerifyingKey:
        """A key from a file, or from its own text: PEM, ``ssh-ed25519 …``, or 32 bytes in base64."""
        text = str(given)
        if "\n" not in text and os.path.isfile(text):
            with open(text, "rb") as file:
                text = file.read(LARGEST_KEY).decode("utf-8", errors="replace")
        key = _public_key(text.strip())
        if key is None:
            hint = "give a PEM file (openssl pkey -in key.pem -pubout), an ssh-ed25519 line, or 32 bytes in base64"
            where = str(given).splitlines()[0][:80] if str(given) else ""
            raise PolicyError("the signer's key is no Ed25519 public key", where=where, hint=hint)
        return cls(key)

    @property
    def identifier(self) -> str:
        form = serialization.PublicFormat.SubjectPublicKeyInfo
        return hashlib.sha256(self.public.public_bytes(serialization.Encoding.DER, form)).hexdigest()

    def signed(self, envelope: Mapping[str, Any]) -> bool:
        """Whether one of the signatures of an envelope is by this key."""
        kind, payload, signatures = opened(envelope)
        message = encoded(kind, payload)
        return any(self._made(signature, message) for signature in signatures)

    def _made(self, signature: bytes, message: bytes) -> bool:
        try:
            self.public.verify(signature, message)
        except InvalidSignature:
            return False
        return True


def _public_key(text: str) -> Ed25519PublicKey | None:
    try:
        if text.startswith("-----BEGIN"):
            found = serialization.load_pem_public_key(text.encode())
        elif text.startswith("ssh-"):
            found = serialization.load_ssh_public_key(text.encode())
        else:
            return Ed25519PublicKey.from_public_bytes(_bytes(text))
    except (ValueError, TypeError, UnsupportedAlgorithm):
        return None
    return found if isinstance(found, Ed25519PublicKey) else None


def opened(envelope: Mapping[str, Any]) -> tuple[str, bytes, list[bytes]]:
    """Type, payload and signatures of an envelope, none of them believed yet (I2)."""
    try:
        signatures = envelope["signatures"]
        if not isinstance(signatures, list) or not 0 < len(signatures) <= MOST_SIGNATURES:
            raise ValueError("no signatures")
        return str(envelope["payloadType"]), _bytes(envelope["payload"]), [_bytes(entry["sig"]) for entry in signatures]
    except (KeyError, TypeError, ValueError, AttributeError):
        raise ReleaseError("the signed statement is no DSSE envelope") from None


def _bytes(text: str) -> bytes:
    """Base64 in either alphabet, strictly; with or without padding."""
    try:
        plain = text.rstrip("=").replace("-", "+").replace("_", "/")
        return base64.b64decode(plain + "=" * (-len(plain) % 4), validate=True)
    except binascii.Error:
        raise ValueError("no base64") from None


# Statement
# ---------


PAYLOAD = "application/vnd.in-toto+json"
TYPE = "https://in-toto.io/Statement/v1"
PREDICATE = "urn:sfumato:release:v1"
UNSIGNED, UNCHECKED = "unsigned", "signed, not checked"
_CLAIM = ("model", "given", "hide", "required", "achieved", "holds", "grade")


def statement_of(folder: Path) -> dict[str, Any]:
    """What is signed about a complete folder."""
    subjects = [{"name": name, "digest": {"sha256": found}} for name, found in _digests(folder).items()]
    return {"_type": TYPE, "subject": subjects, "predicateType": PREDICATE, "predicate": _predicate(folder)}


def _digests(folder: Path) -> dict[str, str]:
    return {name: digest(file) for name, file in files_of(folder).items() if name not in (STATEMENT, TARGET)}  # I1


def _predicate(folder: Path) -> dict[str, Any]:
    """What manifest and certificate say (I2)."""
    manifest, certificate = read_tree(folder / MANIFEST), read_tree(folder / CERTIFICATE)
    try:
        claims = [{key: finding.get(key) for key in _CLAIM} for finding in certificate["findings"]]
        said = {
            "form": manifest["form"],
            "version": manifest["version"],
            "holds": certificate["holds"],
            "claims": claims,
        }
    except (KeyError, TypeError, AttributeError):
        raise ReleaseError("the manifest or the certificate is not what it should be", where=str(folder)) from None
    return said | ({"ledger": certificate["ledger"]} if "ledger" in certificate else {})


def sign_folder(folder: Path, key: SigningKey) -> None:
    """Put the signed statement into a complete folder."""
    payload = json.dumps(statement_of(folder), ensure_ascii=False, separators=(",", ":")).encode()
    write_json(key.envelope(PAYLOAD, payload), folder / STATEMENT)


def examine_signature(folder: Path, signer: VerifyingKey | None) -> tuple[str, tuple[Finding, ...]]:
    """Whether a folder is signed in one sentence, and the finding about it when there is one.

    Without a signer a statement that fits the folder is *signed, not checked*: any person could have signed it. One
    that does not fit is a violation all the same."""
    if STATEMENT not in files_of(folder):
        if signer is None:
            return UNSIGNED, ()
        return UNSIGNED, (_found(["the folder is not signed"]),)
    try:
        envelope = read_tree(folder / STATEMENT)
        wrong = [] if signer is None or signer.signed(envelope) else ["it was not signed with this key"]
        wrong = wrong or list(_misfits(folder, envelope))
    except ReleaseError as error:
        wrong = [error.what]
    if wrong:
        return "signed, and wrong", (_found(wrong),)
    if signer is None:
        return UNCHECKED, ()
    return f"signed with {signer.identifier[:16]}", (_found([]),)


class Signature(Worded):
    """Whether a folder was signed with the given key."""

    name: ClassVar[str] = "signature"
    words: ClassVar[Wording] = Wording(
        "Signature",
        "signature",
        "integrity",
        holds="The folder was signed with the given key, and every file is the signed one.",
    )


def _found(wrong: list[str]) -> Finding:
    return Finding("signature", not wrong, {"mismatches": 0}, {"mismatches": len(wrong)}, reason="; ".join(wrong))


def _misfits(folder: Path, envelope: Mapping[str, Any]) -> Iterator[str]:
    """Where a statement and the folder it lies in differ."""
    pass

    kind, payload, _ = opened(envelope)
    try:
        statement = parse_json(payload.decode())
        signed = {str(entry["name"]): entry["digest"]["sha256"] for entry in statement["subject"]}
        known = kind == PAYLOAD and statement["_type"] == TYPE and statement["predicateType"] == PREDICATE
        if not known or len(signed) != len(statement["subject"]):
            raise ValueError("another kind of statement")
        predicate = statement["predicate"]
    except (KeyError, TypeError, ValueError, AttributeError):
        yield "what was signed is no statement about a release"
        return
    present = _digests(folder)
    for name in sorted(signed.keys() | present.keys()):
        if name not in present:
            yield f"{printable_name(name)} was signed and is missing"
        elif name not in signed:
            yield f"{printable_name(name)} was added after signing"
        elif signed[name] != present[name]:
            yield f"{printable_name(name)} was changed after signing"
    if predicate != _predicate(folder):  # I2
        yield "what was signed about the claims is not what manifest and certificate say"
