"""``sfumato publish``: plan, run, certify, write."""

from __future__ import annotations

from typing import Any

import click


@click.command("publish")
@click.argument("policy", type=click.Path())
@click.option("--data", help="Take the data from here instead of the policy's source.")
@click.option("--out", required=True, type=click.Path(), help="The release folder to write.")
@click.option("--seed", type=int, help="Repeat a run in tests; whoever knows the seed can undo the release.")
@click.option("--ledger", type=click.Path(), help="Remember this release in (and judge it with) this ledger.")
@click.option("--engine", type=click.Choice(["local", "spark"]), default="local", show_default=True, help="Where to compute.")
@click.option("--jobs", type=click.IntRange(1), default=1, show_default=True, help="How many processes.")
@click.option("--format", "format_", type=click.Choice(["csv", "parquet"]), default="csv", show_default=True, help="Of the parts.")
@click.option("--no-report", is_flag=True, help="Do not write the reports.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def command(policy: str, out: str, no_report: bool, as_json: bool, format_: Any, **options: Any) -> None:
    """Make a release under POLICY, certify it, and write the release folder."""
    from sfumato.cli._show import print_findings, print_json, progress_bar
    from sfumato.publication import publish

    with progress_bar(quiet=as_json) as progress:
        publication = publish(policy, options.pop("data"), progress=progress, **options)
    target = publication.write(out, format=format_, report=not no_report)
    if as_json:
        print_json({"out": str(target), "certificate": publication.certificate.to_json()})
        return
    records = publication.certificate.records
    if publication.ledger is not None and publication.history is not None:
        click.echo(f"entered as release {len(publication.history)} in {publication.ledger.path}")
    click.echo(f"published {records.published:,} of {records.input:,} records with {publication.certificate.method} to {target}")
    print_findings(publication.certificate.findings)
    if not no_report:
        click.echo(f"report: {target / 'report.html'} (private: {target}.private.html)")
