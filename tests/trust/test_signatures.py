"""Signed releases: a folder can be told from a forgery without the original, and other tools can read why."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.core.errors import PolicyError, ReleaseError
from sfumato.history.ledger import Ledger
from sfumato.io.plain_files import digest
from sfumato.release.signature import PASSPHRASE, SigningKey, VerifyingKey, encoded, statement_of
from tests.command_line import run
from tests.sequential.stories import people, policy, random_generator

PATIENTS = "name,age,sex,illness\n" + "".join(f"P{i},{30 + i % 7},{'FM'[i % 2]},{'abc'[i % 3]}\n" for i in range(40))
POLICY = """\
version: 1
data: {kind: table, source: people.csv}
columns:
  name: identifier
  age: {role: quasi-identifier, hierarchy: {intervals: [5, 10]}}
  sex: quasi-identifier
  illness: sensitive
protect:
  - k-anonymity: {k: 3}
"""
PEM, PKCS8 = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
PLAIN = serialization.NoEncryption()


def save_key(key: Ed25519PrivateKey, path: Path, lock: serialization.KeySerializationEncryption = PLAIN) -> Path:
    path.write_bytes(key.private_bytes(PEM, PKCS8, lock))
    path.chmod(0o600)
    path.with_suffix(".pub").write_bytes(
        key.public_key().public_bytes(PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    )
    return path


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A steward's desk: data, policy, two keys, a signed release and an unsigned one."""
    desk = tmp_path_factory.mktemp("desk")
    (desk / "people.csv").write_text(PATIENTS)
    (desk / "policy.yaml").write_text(POLICY)
    for name in ("key", "other"):
        save_key(Ed25519PrivateKey.generate(), desk / f"{name}.pem")
    made = run("publish", "policy.yaml", "--out", "signed", "--sign", "key.pem", cwd=desk)
    assert made.returncode == 0, made.stderr
    assert "Signed with key" in made.stdout
    assert run("publish", "policy.yaml", "--out", "bare", cwd=desk).returncode == 0
    return desk


@pytest.fixture
def copy(desk: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(desk / "signed", tmp_path / "signed"))


def envelope(folder: Path) -> dict:
    return dict(json.loads((folder / "statement.dsse.json").read_text()))


def payload(folder: Path) -> dict:
    return dict(json.loads(base64.b64decode(envelope(folder)["payload"])))


# ---- the good case ---------------------------------------------------------------------------------------------------


def test_a_signed_folder_holds_with_its_key(desk: Path) -> None:
    done = run("verify", "signed", "--signer", "key.pub", "--json", cwd=desk)
    assert done.returncode == 0, done.stdout
    found = json.loads(done.stdout)
    expected = {
        "model": "signature", "holds": True, "required": {"mismatches": 0}, "achieved": {"mismatches": 0},
        "given": [], "hide": [], "grade": "exact", "code": "signature",
    }  # fmt: skip
    assert found["findings"][-1].items() >= expected.items()
    assert found["signature"].startswith("signed with ")
    assert sf.verify(desk / "signed", signer=desk / "key.pub").holds


def test_without_a_signer_it_says_that_nobody_checked(desk: Path) -> None:
    done = run("verify", "signed", cwd=desk)
    assert done.returncode == 0
    assert "Signed, but not checked" in done.stdout
    assert "signed" not in run("verify", "bare", cwd=desk).stdout
    assert sf.verify(desk / "bare").signature == "unsigned"


@pytest.mark.parametrize(
    "case", [("bare", "key.pub", "not signed"), ("signed", "other.pub", "not signed with this key")]
)
def test_no_signature_or_another_key_is_a_violation(desk: Path, case: tuple[str, str, str]) -> None:
    folder, key, reason = case
    done = run("verify", folder, "--signer", key, cwd=desk)
    assert done.returncode == 1
    assert "does not keep what it promises" in done.stdout
    assert reason in done.stdout


def test_a_folder_can_be_signed_in_python(desk: Path, tmp_path: Path) -> None:
    publication = sf.publish(desk / "policy.yaml")
    publication.write(tmp_path / "one", sign=desk / "key.pem", report=False)
    publication.write(tmp_path / "two", sign=SigningKey.read(desk / "key.pem"), format="parquet")
    for name in ("one", "two"):
        assert sf.verify(tmp_path / name, signer=VerifyingKey.read(desk / "key.pub")).holds


def test_every_way_to_write_a_public_key_is_the_same_key(desk: Path, tmp_path: Path) -> None:
    public = SigningKey.read(desk / "key.pem").secret.public_key()
    raw = public.public_bytes(serialization.Encoding.Raw, serialization.PublicFormat.Raw)
    ssh = public.public_bytes(serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH).decode()
    (tmp_path / "line.pub").write_text(ssh + " steward@hospital\n")
    (tmp_path / "raw.b64").write_text(base64.b64encode(raw).decode() + "\n")
    ways = [desk / "key.pub", (desk / "key.pub").read_text(), ssh, ssh + " steward@hospital", tmp_path / "line.pub",
            base64.b64encode(raw).decode(), base64.urlsafe_b64encode(raw).decode().rstrip("="),
            tmp_path / "raw.b64"]  # fmt: skip
    assert len({VerifyingKey.read(way).identifier for way in ways}) == 1
    for way in ways:
        assert sf.verify(desk / "signed", signer=way).holds


# ---- other tools can read it -----------------------------------------------------------------------------------------


def test_it_is_an_in_toto_statement_in_a_dsse_envelope_that_openssl_accepts(desk: Path, tmp_path: Path) -> None:
    """Judged from the specifications with somebody else's program: PAE, Ed25519, digests of all files."""
    tree = envelope(desk / "signed")
    assert set(tree) == {"payload", "payloadType", "signatures"}
    assert tree["payloadType"] == "application/vnd.in-toto+json"
    body = base64.b64decode(tree["payload"], validate=True)
    (tmp_path / "pae").write_bytes(b"DSSEv1 28 application/vnd.in-toto+json " + str(len(body)).encode() + b" " + body)
    (tmp_path / "sig").write_bytes(base64.b64decode(tree["signatures"][0]["sig"], validate=True))
    if shutil.which("openssl"):
        call = ["openssl", "pkeyutl", "-verify", "-pubin", "-inkey", str(desk / "key.pub"), "-rawin", "-in",
        str(tmp_path / "pae"),
                "-sigfile", str(tmp_path / "sig")]  # fmt: skip
        assert subprocess.run(call, capture_output=True, check=False).returncode == 0
    statement = json.loads(body)
    assert statement["_type"] == "https://in-toto.io/Statement/v1"
    assert statement["predicateType"] == "urn:sfumato:release:v1"
    signed = {entry["name"]: entry["digest"]["sha256"] for entry in statement["subject"]}
    files = {path.name: digest(path) for path in (desk / "signed").iterdir() if path.name != "statement.dsse.json"}
    assert signed == files
    assert {"manifest.json", "certificate.json", "policy.yaml", "data.csv", "report.html"} <= signed.keys()
    claim = statement["predicate"]["claims"][0]
    assert claim["model"] == "k-anonymity"
    assert (claim["required"], claim["holds"], claim["grade"]) == ({"k": 3}, True, "exact")
    assert claim["achieved"]["k"] >= 3
    assert statement["predicate"]["form"] == "recoded table"


def test_the_encoding_is_that_of_the_specification() -> None:
    kind = "http://example.com/HelloWorld"
    assert encoded(kind, b"hello world") == b"DSSEv1 29 http://example.com/HelloWorld 11 hello world"


@given(st.text(max_size=6), st.binary(max_size=6), st.text(max_size=6), st.binary(max_size=6))
def test_two_payloads_never_have_one_encoding(kind: str, body: bytes, other: str, another: bytes) -> None:
    assert (encoded(kind, body) == encoded(other, another)) == ((kind, body) == (other, another))


# ---- forgeries -------------------------------------------------------------------------------------------------------


def mend(folder: Path) -> None:
    """A manifest that fits what lies in the folder."""
    manifest = json.loads((folder / "manifest.json").read_text())
    for name, entry in manifest["files"].items():
        if (folder / name).exists():
            entry["sha256"] = digest(folder / name)
    (folder / "manifest.json").write_text(json.dumps(manifest, indent=1) + "\n")


def edit_cell(folder: Path) -> None:
    text = (folder / "data.csv").read_text()
    (folder / "data.csv").write_text(text.replace(",a\n", ",b\n", 1))
    mend(folder)


def edit_certificate(folder: Path) -> None:
    tree = json.loads((folder / "certificate.json").read_text())
    tree["assumptions"] = ["none"]
    (folder / "certificate.json").write_text(json.dumps(tree))
    mend(folder)


def edit_report(folder: Path) -> None:
    (folder / "report.html").write_text("<h1>differential privacy</h1>")
    mend(folder)


def edit_manifest(folder: Path) -> None:
    (folder / "manifest.json").write_text((folder / "manifest.json").read_text() + "\n")


def add_file(folder: Path) -> None:
    (folder / "more.csv").write_text("a\n1\n")
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["files"]["more.csv"] = {"sha256": digest(folder / "more.csv")}
    (folder / "manifest.json").write_text(json.dumps(manifest))


def remove_file(folder: Path) -> None:
    (folder / "report.html").unlink()
    manifest = json.loads((folder / "manifest.json").read_text())
    del manifest["files"]["report.html"]
    (folder / "manifest.json").write_text(json.dumps(manifest))


def sign_again(folder: Path) -> None:
    """Everything consistent, signed by somebody else."""
    edit_cell(folder)
    key = SigningKey(Ed25519PrivateKey.generate())
    tree = key.envelope("application/vnd.in-toto+json", json.dumps(statement_of(folder)).encode())
    tree["signatures"][0]["keyid"] = envelope(folder)["signatures"][0]["keyid"]
    (folder / "statement.dsse.json").write_text(json.dumps(tree))


def other_payload(folder: Path) -> None:
    edit_cell(folder)
    tree = envelope(folder)
    tree["payload"] = base64.b64encode(json.dumps(statement_of(folder)).encode()).decode()
    (folder / "statement.dsse.json").write_text(json.dumps(tree))


def other_type(folder: Path) -> None:
    (folder / "statement.dsse.json").write_text(json.dumps(envelope(folder) | {"payloadType": "text/plain"}))


def no_signature(folder: Path) -> None:
    (folder / "statement.dsse.json").write_text(json.dumps(envelope(folder) | {"signatures": []}))


def drop_statement(folder: Path) -> None:
    (folder / "statement.dsse.json").unlink()


FORGERIES = [edit_cell, edit_certificate, edit_report, edit_manifest, add_file, remove_file, sign_again, other_payload,
other_type,
             no_signature, drop_statement]  # fmt: skip


@pytest.mark.parametrize("forge", FORGERIES)
def test_a_forgery_is_told_without_the_original(desk: Path, copy: Path, forge: Callable) -> None:
    forge(copy)
    done = run("verify", str(copy), "--signer", str(desk / "key.pub"))
    assert done.returncode == 1
    assert "✗ Signature" in done.stdout


@pytest.mark.parametrize(
    "forge", [edit_cell, edit_certificate, edit_report, add_file, remove_file, other_type, no_signature]
)
def test_a_statement_that_does_not_fit_is_a_violation_also_without_a_key(copy: Path, forge: Callable) -> None:
    forge(copy)
    assert not sf.verify(copy).holds


def test_any_flipped_bit_of_the_signature_or_the_payload_is_found(desk: Path, copy: Path) -> None:
    key, whole = VerifyingKey.read(desk / "key.pub"), envelope(copy)
    body, signature = base64.b64decode(whole["payload"]), base64.b64decode(whole["signatures"][0]["sig"])
    assert key.signed(whole)
    for place in range(0, len(body), 37):
        changed = body[:place] + bytes([body[place] ^ 1]) + body[place + 1 :]
        assert not key.signed(whole | {"payload": base64.b64encode(changed).decode()})
    for place in range(len(signature)):
        changed = signature[:place] + bytes([signature[place] ^ 16]) + signature[place + 1 :]
        assert not key.signed(whole | {"signatures": [{"sig": base64.b64encode(changed).decode()}]})


def test_a_signed_statement_that_says_more_than_the_folder_does_not_fit(desk: Path, copy: Path) -> None:
    """Also the right key cannot make a statement about claims that the certificate does not have."""
    statement = payload(copy)
    statement["predicate"]["claims"][0]["achieved"]["k"] = 5000
    tree = SigningKey.read(desk / "key.pem").envelope("application/vnd.in-toto+json", json.dumps(statement).encode())
    (copy / "statement.dsse.json").write_text(json.dumps(tree))
    told = run("verify", str(copy), "--signer", str(desk / "key.pub")).stdout
    assert "not what manifest and certificate say" in " ".join(told.split())


def test_a_second_signature_by_somebody_else_does_no_harm(desk: Path, copy: Path) -> None:
    tree = envelope(copy)
    second = SigningKey.read(desk / "other.pem").envelope(tree["payloadType"], base64.b64decode(tree["payload"]))
    tree["signatures"] = [*second["signatures"], *tree["signatures"]]
    (copy / "statement.dsse.json").write_text(json.dumps(tree))
    for key in ("key.pub", "other.pub"):
        assert sf.verify(copy, signer=desk / key).holds


ODD = ["", "{}", "[]", "3", "[" * 200_000, '{"payload": 3, "payloadType": 4, "signatures": 5}',
       '{"payload": "%%%", "payloadType": "t", "signatures": [{"sig": "AA=="}]}',
       '{"payload": "AA==", "payloadType": "t", "signatures": [{"sig": 3}]}',
       '{"payload": "AA==", "payloadType": "application/vnd.in-toto+json", "signatures": [{"sig": "AA=="}]}',
       '{"payload": "WzFd", "payloadType": "application/vnd.in-toto+json", "signatures": [{"sig": "AA=="}]}',
       '{"payload": "AA==", "payload": "AA=="}',
       json.dumps({"payload": "", "payloadType": "", "signatures": [{"sig": ""}] * 65})]  # fmt: skip


@pytest.mark.parametrize("text", ODD)
def test_an_odd_envelope_is_a_violation_and_no_crash(desk: Path, copy: Path, text: str) -> None:
    (copy / "statement.dsse.json").write_text(text)
    for more in ([], ["--signer", str(desk / "key.pub")]):
        done = run("verify", str(copy), *more)
        assert done.returncode == 1
        assert "✗ Signature" in done.stdout
        assert done.stderr == ""


# ---- keys ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o644, 0o601])
def test_a_key_that_others_can_reach_is_refused_before_anything_is_published(
    desk: Path, tmp_path: Path, mode: int
) -> None:
    shutil.copyfile(desk / "key.pem", tmp_path / "key.pem")
    (tmp_path / "key.pem").chmod(mode)
    done = run(
        "publish", str(desk / "policy.yaml"), "--out", str(tmp_path / "out"), "--sign", str(tmp_path / "key.pem")
    )
    assert done.returncode == 2
    assert "others can read the signing key" in done.stderr
    assert not (tmp_path / "out").exists()


def test_a_locked_key_opens_with_the_passphrase_in_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = save_key(
        Ed25519PrivateKey.generate(), tmp_path / "key.pem", serialization.BestAvailableEncryption(b"open sesame")
    )
    monkeypatch.delenv(PASSPHRASE, raising=False)
    with pytest.raises(PolicyError, match="is encrypted"):
        SigningKey.read(key)
    monkeypatch.setenv(PASSPHRASE, "wrong")
    with pytest.raises(PolicyError, match="cannot be read"):
        SigningKey.read(key)
    monkeypatch.setenv(PASSPHRASE, "open sesame")
    assert SigningKey.read(key).public.identifier == VerifyingKey.read(tmp_path / "key.pub").identifier


def test_a_key_never_shows_itself(desk: Path) -> None:
    key = SigningKey.read(desk / "key.pem")
    assert "Ed25519" not in repr(key)
    for file in (desk / "signed").rglob("*"):
        assert (desk / "key.pem").read_text().splitlines()[1] not in file.read_text()


def test_what_is_no_ed25519_key_is_refused(tmp_path: Path) -> None:
    big = rsa.generate_private_key(65537, 2048)
    (tmp_path / "rsa.pem").write_bytes(big.private_bytes(PEM, PKCS8, PLAIN))
    public = big.public_key().public_bytes(PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    (tmp_path / "rsa.pub").write_bytes(public)
    for name, content in (("empty", b""), ("text", b"no key"), ("bytes", os.urandom(64))):
        (tmp_path / name).write_bytes(content)
    os.mkfifo(tmp_path / "pipe")
    for file in tmp_path.iterdir():
        file.chmod(0o600)
        with pytest.raises(PolicyError):
            SigningKey.read(file)
        with pytest.raises(PolicyError):
            VerifyingKey.read(file)
    for text in (
        "",
        "AAAA",
        "ssh-rsa AAAA",
        "ssh-ed25519 AAAA",
        "x" * 5000,
        "\0",
        "-----BEGIN PUBLIC KEY-----\nAAAA\n",
    ):
        with pytest.raises(PolicyError):
            VerifyingKey.read(text)
    with pytest.raises(PolicyError):
        SigningKey.read(tmp_path / "none.pem")


# ---- what may be written later ---------------------------------------------------------------------------------------


def test_the_report_of_a_signed_folder_is_not_written_again(desk: Path, copy: Path) -> None:
    before = {path.name: digest(path) for path in copy.iterdir()}
    done = run("report", str(copy))
    assert done.returncode == 1
    assert "the folder is signed" in done.stderr
    private = run("report", str(copy), "--original", str(desk / "people.csv"))
    assert private.returncode == 0
    assert {path.name: digest(path) for path in copy.iterdir()} == before


def test_the_record_of_a_load_is_no_part_of_a_signed_table(desk: Path, copy: Path) -> None:
    """Only a database is loaded: beside a table such a file is one that nobody listed, signed or reads."""
    (copy / "target.json").write_text("{}\n")
    assert sf.verify(copy, signer=desk / "key.pub").violated


def test_a_ledger_keeps_a_signed_release_to_the_byte(desk: Path, tmp_path: Path) -> None:
    table = people(random_generator(2), 6) | {"s": ["s0", "s1", "s2", "s3", "s0", "s1"]}
    publication = sf.publish(policy(["a", "s"]), table, ledger=tmp_path / "book.ledger", new_ledger=True)
    publication.write(tmp_path / "out", sign=desk / "key.pem")
    said = payload(tmp_path / "out")["predicate"]["ledger"]
    assert said == json.loads((tmp_path / "out" / "certificate.json").read_text())["ledger"]
    assert Ledger(tmp_path / "book.ledger").verify(said["head"]) == 1
    Ledger(tmp_path / "book.ledger").restore(1, tmp_path / "again")
    assert sf.verify(tmp_path / "again", signer=desk / "key.pub", ledger=tmp_path / "book.ledger").holds
    assert {p.name: digest(p) for p in (tmp_path / "again").iterdir()} == {
        p.name: digest(p) for p in (tmp_path / "out").iterdir()
    }


def test_no_folder_appears_when_signing_fails(desk: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise ReleaseError("the key is gone")

    monkeypatch.setattr("sfumato.workflow.write.sign_folder", broken)
    table = people(random_generator(2), 6) | {"s": ["s0", "s1", "s2", "s3", "s0", "s1"]}
    publication = sf.publish(policy(["a", "s"]), table, ledger=tmp_path / "book.ledger", new_ledger=True)
    with pytest.raises(ReleaseError, match="gone"):
        publication.write(tmp_path / "out", sign=desk / "key.pem")
    assert not (tmp_path / "out").exists()
    assert Ledger(tmp_path / "book.ledger").verify() == 0
