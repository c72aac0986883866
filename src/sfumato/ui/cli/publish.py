"""``sfumato publish``: plan, run, certify, write."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sfumato.ui.cli import SETTINGS
from sfumato.ui.cli._options import ACCEPT_ROLES, EFFORT, ENGINE, READING, SEED, SEED_RULE, policy_of

if TYPE_CHECKING:
    from sfumato.policy.policy import Policy
    from sfumato.release.signature import SigningKey
    from sfumato.release.view import ReleaseView
    from sfumato.workflow.publication import Publication


@click.command("publish", context_settings=SETTINGS)
@click.argument("policy", type=click.Path())
@click.option("--data", help="Read the data from this file or URL instead of the policy's source.")
@click.option("--out", required=True, type=click.Path(), help="The release folder to write.")
@click.option(
    "--seed", type=SEED, help=f"Seed for a repeatable run. Anyone who knows it can undo the release. {SEED_RULE}"
)
@click.option(
    "--ledger", type=click.Path(), help="Add the release to this ledger and audit it with all earlier releases."
)
@click.option("--new-ledger", is_flag=True, help="Create the ledger. Without this option the ledger must exist.")
@click.option("--sign", type=click.Path(), help="Sign the release with this Ed25519 private key (PEM file, mode 0600).")
@click.option("--jobs", type=click.IntRange(1), help="Number of parallel workers.")
@click.option(
    "--format",
    "format_",
    type=click.Choice(["csv", "parquet"]),
    default="csv",
    show_default=True,
    help="File format of the published tables.",
)
@click.option("--replace", is_flag=True, help="Overwrite tables that exist in the target database.")
@click.option(
    "--refresh",
    type=click.Path(exists=True, file_okay=False),
    help="Last release folder of this database. Rows that have not changed since keep their new values, and only"
    " changed rows are written into the target.",
)
@EFFORT
@ACCEPT_ROLES
@READING
@click.option("--no-report", is_flag=True, help="Do not write the reports.")
@ENGINE
@click.option("--verbose", "-v", is_flag=True, help="List every check and explain the known limits.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def command(
    policy: str, out: str, replace: bool, no_report: bool, as_json: bool, verbose: bool, format_: Any, **options: Any
) -> None:
    """Anonymize the data of POLICY, audit the result and write a release folder. For a database, also load the
    target."""
    from sfumato.core.errors import PolicyError
    from sfumato.release.folder import STATEMENT
    from sfumato.ui.cli._options import engine_of
    from sfumato.ui.cli._output import interruptible, print_summary, progress_bar
    from sfumato.workflow.publish import publish

    key = _key(options.pop("sign"))  # before any data moves
    read = policy_of(policy, options.pop("reading"), options.pop("accept_roles"), options.pop("effort"))
    read.require_decided()
    if read.data.loads and _is_unfinished(read, out):
        if key is not None and not (Path(out) / STATEMENT).exists():
            hint = "remove it to publish and sign it again, or leave --sign out"
            raise PolicyError(f"{out} was published under this policy without a signature", where=out, hint=hint)
        if not as_json:
            click.echo(f"{out} exists for this policy. Continuing with the database load.")
        _load(read, out, replace, as_json, {"out": out}, options["jobs"], refreshing=options["refresh"])
        return
    _require_room(read, out, options["data"], options["ledger"])
    refreshing = options["refresh"]
    _require_target(read, replace, refreshing)
    engine = engine_of(options.pop("engine"), options.pop("master"), staging=Path(out).absolute().parent)
    jobs = options["jobs"]
    told = {"format": format_, "engine": engine, "unfinished": Path(f"{out}.unfinished")}
    began = time.monotonic()
    with progress_bar(quiet=as_json) as progress, interruptible():
        publication = publish(read, options.pop("data"), progress=progress, **told, **options)
    target = publication.write(out, report=not no_report, sign=key)
    told["unfinished"].unlink(missing_ok=True)
    if as_json:
        _say_mark(publication.release.form.mark)
        document = {"out": str(target), "certificate": publication.certificate.to_json()}
        document |= {"subset": shares} if (shares := _rows_of_subset(publication)) else {}
        _load(read, out, replace, as_json, document, jobs, publication.exhibit, refreshing)
        return
    _say_mark(publication.release.form.mark)
    records = publication.certificate.records
    if publication.ledger is not None and publication.history is not None:
        click.echo(f"Added to {publication.ledger.path} as release {len(publication.history)}.")
    took = f"{time.monotonic() - began:.1f} s"
    told_records = f"{records.published:,} of {records.input:,} records"
    click.echo(f"Published {told_records} to {target}/ (method: {publication.certificate.method}, {took}).")
    for table, (kept, there) in _rows_of_subset(publication).items():
        click.echo(f"  {table}: {kept:,} of {there:,} rows")
    if key is not None:
        click.echo(f"Signed with key {key.public.identifier[:16]}.")
    if not no_report:
        click.echo(f"Report: {target / 'report.html'} (for you alone: {target}.private.html)")
    _load(read, out, replace, as_json, {}, jobs, publication.exhibit, refreshing)
    steps = [f"sfumato verify {target} shows what a recipient can check."]
    print_summary(publication.summary(*steps, private=not no_report), verbose=verbose)


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


def _require_target(policy: Policy, replace: bool, refreshing: str | None) -> None:
    """The target of a database, before the run rather than after it."""
    if policy.data.loads:
        from sfumato.workflow.database_load import last_loaded, require_target

        if refreshing is None:
            require_target(policy, replace=replace)
        else:
            last_loaded(Path(refreshing))


def _rows_of_subset(publication: Publication) -> dict[str, tuple[int, int]]:
    """Per table how many rows a subset has, and of how many; for the data holder."""
    form = publication.release.form
    if not getattr(form, "subset", False):
        return {}
    tables = publication.original.tables
    return {one.table: (one.rows, tables[one.table].rows) for one in form.tables.values()}  # type: ignore[attr-defined]


def _say_mark(mark: str) -> None:
    """Loud, and beside the answer, so that scripts that read it are not disturbed."""
    if mark:
        told = f"Warning: test release ({mark}). Publish without --seed, or use a seed of at least 128 bits."
        click.secho(told, fg="red", err=True)


def _load(
    policy: Policy,
    out: str,
    replace: bool,
    as_json: bool,
    document: dict[str, Any],
    jobs: int | None,
    published: ReleaseView | None = None,
    refreshing: str | None = None,
) -> None:
    """Into the target, when the policy names one."""
    from sfumato.ui.cli._output import print_findings, print_json, progress_bar

    if policy.data.loads:
        from sfumato.workflow.database_load import load_release

        with progress_bar(quiet=as_json) as progress:
            given: dict[str, Any] = {"published": published, "refreshing": Path(refreshing) if refreshing else None}
            found = load_release(policy, out, progress=progress, replace=replace, jobs=jobs, **given)
        document = document | {"target": found.to_json()}
        if not as_json:
            resumed = f" ({len(found.resumed)} were complete already)" if found.resumed else ""
            rows = f"{len(found.rows)} tables with {sum(found.rows.values()):,} rows"
            click.echo(f"Loaded {rows} into the target database{resumed}.")
            for table, one in found.refreshed.items():
                click.echo(f"  {table}: {one['added']:,} added, {one['changed']:,} changed, {one['removed']:,} removed")
            for sentence in found.left_out:
                click.echo(f"  Not transferred: {sentence}")
            print_findings(found.findings, verbose=False)
    if as_json:
        print_json(document)
