"""``sfumato publish``: plan, run, certify, write."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sfumato.ui.cli import SETTINGS
from sfumato.ui.cli._options import ACCEPT_ROLES, ENGINE, READING, SEED, SEED_RULE, policy_of

if TYPE_CHECKING:
    from sfumato.policy.policy import Policy
    from sfumato.release.signature import SigningKey


@click.command("publish", context_settings=SETTINGS)
@click.argument("policy", type=click.Path())
@click.option("--data", help="Take the data from here instead of the policy's source.")
@click.option("--out", required=True, type=click.Path(), help="The release folder to write.")
@click.option("--seed", type=SEED, help=f"Repeat a run; whoever knows the seed can undo the release. {SEED_RULE}")
@click.option("--ledger", type=click.Path(), help="Remember this release in (and judge it with) this ledger.")
@click.option("--new-ledger", is_flag=True, help="Begin this ledger; one that is not there is an error otherwise.")
@click.option("--sign", type=click.Path(), help="Sign the release with this Ed25519 private key (PEM; readable by you alone).")
@click.option("--jobs", type=click.IntRange(1), help="How many work at once; recoding and loading take several by themselves.")
@click.option("--format", "format_", type=click.Choice(["csv", "parquet"]), default="csv", show_default=True, help="Of the parts.")
@click.option("--replace", is_flag=True, help="Of a database: replace tables that stand in the target already.")
@ACCEPT_ROLES
@READING
@click.option("--no-report", is_flag=True, help="Do not write the reports.")
@ENGINE
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def command(policy: str, out: str, replace: bool, no_report: bool, as_json: bool, format_: Any, **options: Any) -> None:
    """Make a release under POLICY, certify it, and write the release folder; of a database also load and audit the target."""
    from sfumato.core.errors import PolicyError
    from sfumato.release.folder import STATEMENT
    from sfumato.ui.cli._options import engine_of
    from sfumato.ui.cli._output import print_findings, progress_bar
    from sfumato.workflow.publish import publish

    key = _key(options.pop("sign"))  # before any data moves
    read = policy_of(policy, options.pop("reading"), options.pop("accept_roles"))
    read.require_decided()
    if read.data.loads and _is_unfinished(read, out):
        if key is not None and not (Path(out) / STATEMENT).exists():
            hint = "remove it to publish and sign it again, or leave --sign out"
            raise PolicyError(f"{out} was published under this policy without a signature", where=out, hint=hint)
        if not as_json:
            click.echo(f"{out} was published under this policy; going on with the load")
        _load(read, out, replace, as_json, {"out": out}, options["jobs"])
        return
    _require_room(read, out, options["data"], options["ledger"])
    _require_target(read, replace)
    engine = engine_of(options.pop("engine"), options.pop("master"), staging=Path(out).absolute().parent)
    jobs = options["jobs"]
    told = {"format": format_, "engine": engine, "unfinished": Path(f"{out}.unfinished")}
    with progress_bar(quiet=as_json) as progress:
        publication = publish(read, options.pop("data"), progress=progress, **told, **options)
    target = publication.write(out, report=not no_report, sign=key)
    told["unfinished"].unlink(missing_ok=True)
    if as_json:
        _say_mark(publication.release.form.mark)
        _load(read, out, replace, as_json, {"out": str(target), "certificate": publication.certificate.to_json()}, jobs)
        return
    _say_mark(publication.release.form.mark)
    records = publication.certificate.records
    if publication.ledger is not None and publication.history is not None:
        click.echo(f"entered as release {len(publication.history)} in {publication.ledger.path}")
    click.echo(f"published {records.published:,} of {records.input:,} records with {publication.certificate.method} to {target}")
    print_findings(publication.findings)
    if key is not None:
        click.echo(f"signed with {key.public.identifier[:16]}")
    if not no_report:
        click.echo(f"report: {target / 'report.html'} (private: {target}.private.html)")
    _load(read, out, replace, as_json, {}, jobs)


def _key(sign: str | None) -> SigningKey | None:
    """Cryptography is loaded when there is a key."""
    if sign is None:
        return None
    from sfumato.release.signature import SigningKey

    return SigningKey.read(sign)


def _is_unfinished(policy: Policy, out: str) -> bool:
    """Whether a load was cut off; what loads databases is loaded when there is one."""
    from sfumato.workflow.database_load import is_unfinished

    return is_unfinished(policy, out)


def _require_room(policy: Policy, out: str, data: str | None, ledger: str | None) -> None:
    """Folder, ledger and disk, before the run rather than after it."""
    from sfumato.release.folder import require_room, require_writable_folder

    source = Path(data) if data else policy.data.path()
    require_room(Path(out), source.stat().st_size if (data or policy.data.source) and source.is_file() else 0)
    book = Path(ledger) if ledger else policy.base / policy.ledger.file if policy.ledger else None
    if book is not None:
        require_writable_folder(book.parent)


def _require_target(policy: Policy, replace: bool) -> None:
    """The target of a database, before the run rather than after it."""
    if policy.data.loads:
        from sfumato.workflow.database_load import require_target

        require_target(policy, replace=replace)


def _say_mark(mark: str) -> None:
    """Loud, and beside the answer, so that scripts that read it are not disturbed."""
    if mark:
        click.secho(f"warning: {mark}; leave --seed out, or give one of at least 128 bits", fg="red", err=True)


def _load(policy: Policy, out: str, replace: bool, as_json: bool, document: dict[str, Any], jobs: int | None) -> None:
    """Into the target, when the policy names one."""
    from sfumato.ui.cli._output import print_findings, print_json, progress_bar

    if policy.data.loads:
        from sfumato.workflow.database_load import load_release

        with progress_bar(quiet=as_json) as progress:
            found = load_release(policy, out, progress=progress, replace=replace, jobs=jobs)
        document = document | {"target": found.to_json()}
        if not as_json:
            resumed = f" ({len(found.resumed)} tables were there already)" if found.resumed else ""
            click.echo(f"loaded {len(found.rows)} tables, {sum(found.rows.values()):,} rows into the target{resumed}")
            for sentence in found.left_out:
                click.echo(f"  left out: {sentence}")
            print_findings(found.findings)
    if as_json:
        print_json(document)
