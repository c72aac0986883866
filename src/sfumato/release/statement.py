"""The signed statement of a release: an in-toto Statement about every file of the folder, in a DSSE envelope.

::

    {"_type": "https://in-toto.io/Statement/v1",
     "subject": [{"name": "certificate.json", "digest": {"sha256": "…"}}, …],
     "predicateType": "urn:sfumato:release:v1",
     "predicate": {"form": "recoded table", "version": "…", "holds": true, "claims": […], "ledger": {"release": 3, "head": "…"}}}

Who has the public key of the data holder can tell a folder from a forgery without the original, and without believing anything
in the folder. A claim is a finding of the certificate: model, given, hide, required, achieved, holds, grade.

Invariants
    I1  The subjects are all files of the folder: manifest, certificate and report included, only the statement itself and
        ``target.json`` (written later, when the release is loaded, and bound to the manifest by itself) excepted.
    I2  The predicate says what the manifest and the certificate of the folder say; a statement that says more does not fit.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.errors import ReleaseError
from sfumato.io.json_text import parse_json
from sfumato.release.certificate import Finding
from sfumato.release.folder import CERTIFICATE, MANIFEST, STATEMENT, TARGET, write_json
from sfumato.release.plain_files import digest, files_of, read_tree, shown

if TYPE_CHECKING:
    from sfumato.release.signature import SigningKey, VerifyingKey

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
        said = {"form": manifest["form"], "version": manifest["version"], "holds": certificate["holds"], "claims": claims}
    except (KeyError, TypeError, AttributeError):
        raise ReleaseError("the manifest or the certificate is not what it should be", where=str(folder)) from None
    return said | ({"ledger": certificate["ledger"]} if "ledger" in certificate else {})


def sign_folder(folder: Path, key: SigningKey) -> None:
    """Put the signed statement into a complete folder."""
    payload = json.dumps(statement_of(folder), ensure_ascii=False, separators=(",", ":")).encode()
    write_json(key.envelope(PAYLOAD, payload), folder / STATEMENT)


def examine_signature(folder: Path, signer: VerifyingKey | None) -> tuple[str, tuple[Finding, ...]]:
    """Whether a folder is signed in one sentence, and the finding about it when there is one.

    Without a signer a statement that fits the folder is *signed, not checked*: anybody could have signed it. One that does not
    fit is a violation all the same.
    """
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


def _found(wrong: list[str]) -> Finding:
    return Finding("signature", not wrong, {"mismatches": 0}, {"mismatches": len(wrong)}, reason="; ".join(wrong))


def _misfits(folder: Path, envelope: Mapping[str, Any]) -> Iterator[str]:
    """Where a statement and the folder it lies in differ."""
    from sfumato.release.signature import opened

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
            yield f"{shown(name)} was signed and is missing"
        elif name not in signed:
            yield f"{shown(name)} was added after signing"
        elif signed[name] != present[name]:
            yield f"{shown(name)} was changed after signing"
    if predicate != _predicate(folder):  # I2
        yield "what was signed about the claims is not what manifest and certificate say"
