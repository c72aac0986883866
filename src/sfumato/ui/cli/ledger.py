"""``sfumato ledger``: what was published so far, and whether the record of it is whole."""

from __future__ import annotations

from typing import Any

import click

from sfumato.core.wording import count_text
from sfumato.ui.cli import SETTINGS


@click.group("ledger", context_settings=SETTINGS)
def command() -> None:
    """Show or verify what was published so far."""


@command.command("list", context_settings=SETTINGS)
@click.argument("file", type=click.Path())
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def list_entries(file: str, as_json: bool) -> None:
    """List the releases in FILE."""
    from sfumato.ui.cli._output import print_json, print_next

    entries = [_summary(entry) for entry in _ledger(file).entries()]
    if as_json:
        print_json(entries)
        return
    for entry in entries:
        if entry["kind"] != "release":
            click.echo(f"{entry['number']:>3}  {entry['when']}  one person was removed from the stored data")
            continue
        promises = "; ".join(f"{name} {level}" for name, level in entry["found"].items())
        day = entry["when"][:16].replace("T", " ")
        click.echo(f"{entry['number']:>3}  {day}  {entry['records']:>9,} records  {entry['method']:<12} {promises}")
    print_next(f"sfumato ledger verify {file}")


@command.command("show", context_settings=SETTINGS)
@click.argument("file", type=click.Path())
@click.argument("number", type=int)
@click.option("--out", type=click.Path(), help="Restore the release folder here.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def show(file: str, number: int, out: str | None, as_json: bool) -> None:
    """Show the certificate and files of release NUMBER. Private data is not shown."""
    from pathlib import Path

    from sfumato.core.errors import LedgerError
    from sfumato.history.ledger.entries import MEMORY, WAS
    from sfumato.release.certificate import Certificate
    from sfumato.ui.cli._output import print_findings, print_json

    ledger = _ledger(file)
    entry = next((entry for entry in ledger.entries() if entry.number == number and not entry.forgets), None)
    if entry is None:
        raise LedgerError(f"the ledger has no release {number}", where=file, hint="see 'sfumato ledger list'")
    files = {name: len(content) for name, content in ledger.files(number).items() if name not in (MEMORY, WAS)}
    if out:
        ledger.restore(number, Path(out))
    detail = _summary(entry) | {"digest": entry.digest, "certificate": entry.body["certificate"], "files": files}
    if as_json:
        print_json(detail)
        return
    click.echo(
        f"release {number} of {entry.when}, {entry.body['records']:,} records, {entry.body['counterfeits']:,}"
        " counterfeits"
    )
    print_findings(Certificate.from_json(entry.body["certificate"]).findings)
    for name, size in files.items():
        click.echo(f"  {name}  {size:,} bytes")


@command.command("verify", context_settings=SETTINGS)
@click.argument("file", type=click.Path())
@click.option("--head", help="Hash that the chain must contain (from a certificate or an earlier run).")
@click.option("--release", type=click.Path(), help="Release folder that the chain must contain.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def verify(file: str, head: str | None, release: str | None, as_json: bool) -> None:
    """Check the hash chain of FILE. Exit code 6 if it is broken.

    Entries that were cut off at its end, and digests that were all computed anew, show only against something that was
    kept elsewhere: give --head or --release."""
    from pathlib import Path

    from sfumato.ui.cli._output import print_json

    ledger = _ledger(file)
    count = ledger.verify(head)
    entry = None if release is None else ledger.verify_release(Path(release))
    last = ledger.head()
    if as_json:
        print_json(
            {"holds": True, "entries": count, "head": last} | ({} if entry is None else {"release": entry.number})
        )
        return
    forgotten = sum(one.forgets for one in ledger.entries())
    said = f"The hash chain is intact: {count_text(count - forgotten, 'release')}"
    said += f", {count_text(forgotten, 'deletion')}" if forgotten else ""
    click.echo(said + ("." if entry is None else f"; {release} is release {entry.number}."))
    click.echo(f"head {last}")


@command.command("import", context_settings=SETTINGS)
@click.argument("file", type=click.Path())
@click.argument("policy", type=click.Path())
@click.argument("published", type=click.Path())
@click.option("--original", type=click.Path(), help="Original data with the key column (default: the policy's source).")
@click.option("--new-ledger", is_flag=True, help="Create FILE. It must not exist.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def import_release(
    file: str, policy: str, published: str, original: str | None, new_ledger: bool, as_json: bool
) -> None:
    """Add PUBLISHED, a table anonymized with another tool, to the ledger FILE. POLICY describes its columns.

    It is judged like every other release, together with all of them, and entered whether it holds or not: it is
    published already."""
    from sfumato.ui.cli._output import print_findings, print_json
    from sfumato.workflow.import_release import import_release as adopt

    entry, found = adopt(policy, published, original=original, ledger=file, new_ledger=new_ledger)
    if as_json:
        print_json({"number": entry.number, "imported": True, "findings": [finding.to_json() for finding in found]})
        return
    click.echo(f"Added to {file} as release {entry.number} (made with another tool).")
    print_findings(found)


@command.command("forget", context_settings=SETTINGS)
@click.argument("file", type=click.Path())
@click.argument("key")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def forget(file: str, key: str, as_json: bool) -> None:
    """Delete the person with KEY from the ledger's private data. Published releases stay unchanged.

    KEY is the value of the policy's 'key:' column, or several values with commas between them; with 'person:' also the
    name of the person, all of whose rows are forgotten. Take the person out of the data, too: somebody who is still
    there comes back as a new person with the next release. What remains is that one person, without a name, is behind a
    row of each published release."""
    from sfumato.history.ledger.forgetting import forget as take_out
    from sfumato.ui.cli._output import print_json

    ledger = _ledger(file)
    numbers = take_out(ledger, key)
    if as_json:
        print_json({"releases": numbers, "head": ledger.head()})
        return
    numbered = ", ".join(map(str, numbers))
    click.echo(f"Deleted from {count_text(len(numbers), 'release')} ({numbered}). What was published is unchanged.")
    click.echo(f"head {ledger.head()}")


def _ledger(file: str) -> Any:
    from sfumato.history.ledger import Ledger

    return Ledger(file)


def _summary(entry: Any) -> dict[str, Any]:
    certificate = entry.body["certificate"]
    found: dict[str, str] = {}
    for f in certificate.get("findings", ()):
        if f["given"] or f["hide"]:
            level = ", ".join(f"{k} {v}" for k, v in f["achieved"].items())
            found[f["model"]] = "; ".join(filter(None, (found.get(f["model"]), level)))
    return {
        "number": entry.number,
        "when": entry.when,
        "records": entry.body["records"],
        "counterfeits": entry.body["counterfeits"],
        "method": certificate.get("method", ""),
        "kind": "forgetting" if entry.forgets else "release",
        "imported": entry.imported,
        "found": found,
    }
