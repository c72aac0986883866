"""Report: the page that shows a release, written only when its certificate is what the audit finds.

A page repeats what the certificate says, in large letters. So the certificate is compared with the files first, and a
page is refused as long as the two disagree.


Write
-----
Where reports go: the public one into the release folder, the private one beside it and readable by its owner only.


Page
----
The page: one self-contained HTML file that works offline and prints well.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import date
from hashlib import sha256
from pathlib import Path
from typing import Any

from sfumato.audit.certify import certify
from sfumato.core.errors import DataError, ReleaseError
from sfumato.core.html.pages import style, template
from sfumato.core.registry import catalogue
from sfumato.core.wording import count_text
from sfumato.engines.local import HERE
from sfumato.io.plain_files import digest, read_tree, replace_file
from sfumato.release.folder import MANIFEST, POLICY, REPORT, STATEMENT, open_release, read_folder, write_json
from sfumato.release.report_section import Section
from sfumato.release.summary import Summary, summarize
from sfumato.release.summary_html import headline_html, summary_html
from sfumato.release.view import ReleaseView, certificate_of
from sfumato.workflow.verify import Audit, audit_of

_ABOUT = frozenset({"certificate", "form", "method"})
"""Findings of which one that does not hold says that the certificate is not about these files."""


def write_report(folder: Path, original: Any = None, out: Path | None = None, **parameters: Any) -> Path:
    """The public report into the folder, or with the original the data holder's private one beside it."""
    release = read_folder(folder, engine=HERE)
    damage = tuple(entry for entry in release.damage or () if not entry.startswith(REPORT))
    if not damage:
        _require_agreement(audit_of(release), folder)
    return write_public(folder) if original is None else write_private(folder, original, out, parameters)


def _require_agreement(found: Audit, folder: Path) -> None:
    wrong = [finding.reason for finding in found.findings if finding.model in _ABOUT and not finding.holds]
    if wrong:
        what = "the certificate does not agree with the published files: " + "; ".join(wrong)
        raise ReleaseError(what, where=str(folder), hint="run 'sfumato verify' on it")


# Write
# -----


def write_public(folder: Path) -> Path:
    """``DIR/report.html``, entered in the manifest; that of a signed folder is part of what was signed and stays as it
    is."""
    exhibit = read_folder(folder, engine=HERE)
    if (folder / STATEMENT).exists():
        hint = "its report was signed with it; --original and --out write the data holder's report elsewhere"
        raise ReleaseError("the folder is signed, and nothing in it is written again", where=str(folder), hint=hint)
    damage = [entry for entry in exhibit.damage or () if not entry.startswith(REPORT)]
    if damage:
        raise ReleaseError(
            "the folder is damaged: " + "; ".join(damage), where=str(folder), hint="run 'sfumato verify' on it"
        )
    replace_file(folder / REPORT, render(exhibit, folder).encode())
    manifest = read_tree(folder / MANIFEST)
    manifest["files"][REPORT] = {"sha256": digest(folder / REPORT)}
    write_json(manifest, folder / MANIFEST)
    return folder / REPORT


def write_private(folder: Path, original: Any, out: Path | None, parameters: Mapping[str, Any] | None = None) -> Path:
    """The data holder's report on a folder, never inside it; `parameters` are those of metrics."""
    target = out or private_path(folder)
    if folder.resolve() in target.resolve().parents:
        raise DataError(
            "the private report must not lie in the release folder", where=str(target), hint="choose another --out"
        )
    return save_private(open_release(folder, original=original, engine=HERE, **(parameters or {})), target, folder)


def private_path(folder: Path) -> Path:
    """``DIR.private.html`` beside the folder."""
    return folder.with_name(folder.name + ".private.html")


def save_private(exhibit: ReleaseView, target: Path, folder: Path | None = None) -> Path:
    """Write with mode 0600 from the first byte on, never through a link; `folder` is the release that it is about."""
    signed = folder is not None and (folder / STATEMENT).exists()
    return replace_file(target, render(exhibit, folder, signed=signed).encode(), private=True)


# Page
# ----


def render(exhibit: ReleaseView, folder: Path | None = None, *, signed: bool = False) -> str:
    """The five questions, then all sections that apply, in their order; `folder` has the files whose digests the page
    names."""
    certificate = certificate_of(exhibit)
    sections = sorted(
        (cls() for cls in catalogue("report sections", Section).values()), key=lambda section: section.order
    )
    shown = [(section.name, section.title, section.render(exhibit)) for section in sections if section.applies(exhibit)]
    findings = exhibit.once(certify) if exhibit.private else certificate.findings
    told = summarize(exhibit, findings, attacks=certificate.attacks or ())
    steps = _private_steps(exhibit, told, signed) if exhibit.private else _public_steps(signed)
    told = replace(told, next_steps=tuple(steps))
    return template("page.html").render(
        exhibit=exhibit,
        certificate=certificate,
        sections=shown,
        style=style(),
        identity=tuple(_identity(exhibit, folder, signed)),
        headline=headline_html(told),
        five=summary_html(told, details="#promises", limits="#attacks", words="#words"),
    )


def _identity(exhibit: ReleaseView, folder: Path | None, signed: bool) -> Iterator[str]:
    """What this page is about: title, publisher, place in a series, date, records, fingerprints, signature."""
    certificate = certificate_of(exhibit)
    manifest = read_tree(folder / MANIFEST) if folder is not None and (folder / MANIFEST).is_file() else {}
    yield exhibit.policy.title or f"Release: {exhibit.form}"
    yield exhibit.policy.publisher or "publisher not named"
    number = certificate.ledger.get("release") if certificate.ledger is not None else None
    yield "release 1 of 1, no ledger" if number is None else f"release {number} of {number} so far"
    if manifest.get("date"):
        yield date.fromisoformat(str(manifest["date"])).strftime("%-d %b %Y")
    records = certificate.records
    columns = f" · {count_text(len(exhibit.policy.published), 'column')}" if exhibit.policy.published else ""
    yield f"{records.published:,} of {records.input:,} records{columns}"
    files = manifest.get("files", {})
    if POLICY in files:
        yield f"policy sha256 {_fingerprint(str(files[POLICY]['sha256']))}"
        parts = sorted(f"{name} {entry['sha256']}" for name, entry in files.items() if "rows" in entry)
        one = parts[0].partition(" ")[2] if len(parts) == 1 else sha256("\n".join(parts).encode()).hexdigest()
        yield f"{'data' if len(parts) == 1 else count_text(len(parts), 'data file')} sha256 {_fingerprint(one)}"
    yield "signed" if signed else "not signed"


def _fingerprint(digest: str) -> str:
    return f"{digest[:8]}…{digest[-4:]}"


def _public_steps(signed: bool) -> Iterator[str]:
    yield "Check this release: `sfumato verify DIR`" + (" `--signer KEY`." if signed else ".")
    yield "Count records in it: `sfumato query DIR 'count where …'`."


def _private_steps(exhibit: ReleaseView, told: Summary, signed: bool) -> Iterator[str]:
    if told.open_points:
        yield "Decide about every open point: change the policy, or accept it under `accept:` with a name and a reason."
    if not signed:
        yield "Sign the release: `publish --sign KEY`."
    yield "Hand over the release folder alone. This page stays with the data."
    if exhibit.history is None:
        yield "If you publish about the same people again, start a ledger: `--ledger FILE --new-ledger`."
    else:
        yield "Publish the next release of the series with the same ledger."
