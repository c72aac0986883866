"""Public schemas with rows, from the draft to the release, judged from outside.

python -m benchmarks.public_databases SNAPSHOTS SERVER [NAME …]

SNAPSHOTS is a folder with bare clones of the repositories below, as `OWNER+NAME/repo`; SERVER is the URL of a
PostgreSQL server on which databases may be made and dropped, without a database. Pagila has rows of its own, the others
are filled by `filling.py`. Every step is a command of the product, the answers to what a draft asks are the labels in
`tests/roles/schemas`, and `judge.py` compares source and target without the product. Nothing of the repositories is
kept but their names, commits and figures in `benchmarks/results/public_databases.csv`."""

from __future__ import annotations

import csv
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import psycopg
import yaml

from benchmarks.public_databases.filling import fill
from benchmarks.public_databases.judge import Judgement, judge

LABELS = Path(__file__).resolve().parents[2] / "tests" / "roles" / "schemas"
RESULTS = Path(__file__).resolve().parents[1] / "results" / "public_databases.csv"
HEAD = (
    "schema,commit,tables,rows,labelled,replaced,asked,copied,questions,discover s,check,publish,publish s,verify,"
    "objects equal,references,undeclared references,originals searched,columns weighed,columns kept,keys renamed,wrong"
)


@dataclass
class Snapshot:
    """One repository at its newest stored commit."""

    folder: Path

    def git(self, *arguments: str) -> str:
        return subprocess.run(
            ["git", "-C", str(self.folder), *arguments], capture_output=True, text=True, check=True, errors="replace"
        ).stdout

    def files(self, under: str, ends: str = ".sql") -> list[str]:
        listed = self.git("ls-tree", "-r", "--name-only", "HEAD", under).splitlines()
        return sorted(one for one in listed if one.endswith(ends))

    def text(self, path: str) -> str:
        return self.git("show", f"HEAD:{path}")


def _script(url: str, text: str) -> None:
    """Run a script of psql, which may contain COPY; errors of single statements are passed over, as psql does."""
    subprocess.run(["psql", "-q", "-d", url], input=text, capture_output=True, text=True, check=False)


def _pagila(repository: Snapshot, url: str) -> None:
    for name in ("pagila-schema.sql", "pagila-data.sql"):
        _script(url, repository.text(name))


def _adventureworks(repository: Snapshot, url: str) -> None:
    _script(url, repository.text("install.sql"))  # the files that it copies from are not in the repository


def _mattermost(repository: Snapshot, url: str) -> None:
    for name in repository.files("server/channels/db/migrations/postgres", ".up.sql"):
        _script(url, repository.text(name).replace("CONCURRENTLY", ""))


def _ledgersmb(repository: Snapshot, url: str) -> None:
    _script(url, repository.text("sql/Pg-database.sql"))


def _omop(repository: Snapshot, url: str) -> None:
    for part in ("ddl", "primary_keys", "constraints"):
        text = repository.text(f"inst/ddl/5.4/postgresql/OMOPCDM_postgresql_5.4_{part}.sql")
        _script(url, text.replace("@cdmDatabaseSchema.", ""))


def _logto(repository: Snapshot, url: str) -> None:
    tenants = repository.text("packages/schemas/src/models/tenants.ts")
    made = re.search(r"create table tenants.*?;", tenants, re.DOTALL)
    waiting = [re.sub(r"\$\{[\w.]+\}", "development", made[0]) if made else ""]
    waiting += [
        repository.text(name)
        for name in repository.files("packages/schemas/tables")
        if not Path(name).name.startswith(("_after", "_before"))
    ]
    with psycopg.connect(url, autocommit=True) as connection:
        while waiting:
            left = []
            for text in waiting:
                try:
                    connection.execute(text)  # type: ignore[arg-type]
                except psycopg.Error:
                    left.append(text)
            if len(left) == len(waiting):
                raise ValueError(f"{len(left)} tables of logto cannot be made")
            waiting = left


SCHEMAS: dict[str, tuple[str, Callable[[Snapshot, str], None]]] = {
    "pagila": ("KeenMate+pagila", _pagila),
    "adventureworks": ("lorint+AdventureWorks-for-Postgres", _adventureworks),
    "mattermost": ("mattermost+mattermost", _mattermost),
    "ledgersmb": ("ledgersmb+LedgerSMB", _ledgersmb),
    "logto": ("logto-io+logto", _logto),
    "omop": ("OHDSI+CommonDataModel", _omop),
}
"""A shop, a company, a chat, an ERP, an identity server and a clinic."""


@dataclass
class Outcome:
    """What one schema came to."""

    schema: str
    commit: str = ""
    labelled: int = 0
    replaced: int = 0
    asked: int = 0
    copied: list[str] = field(default_factory=list)
    questions: int = 0
    seconds: dict[str, float] = field(default_factory=dict)
    codes: dict[str, int] = field(default_factory=dict)
    told: list[str] = field(default_factory=list)
    judged: Judgement = field(default_factory=Judgement)

    @property
    def wrong(self) -> list[str]:
        codes = [f"{step} ended with {code}" for step, code in self.codes.items() if code]
        return [*codes, *(f"copied without a question: {name}" for name in self.copied), *self.judged.wrong]

    def row(self) -> list[object]:
        one = self.judged
        codes = [self.codes.get(step, "") for step in ("check", "publish")]
        return [
            self.schema, self.commit[:12], one.tables, one.rows, self.labelled, self.replaced, self.asked,
            len(self.copied), self.questions, f"{self.seconds.get('discover', 0):.0f}", *codes,
            f"{self.seconds.get('publish', 0):.0f}", self.codes.get("verify", ""), one.objects, one.references,
            one.undeclared, one.searched, one.weighed, one.kept, one.renamed, len(self.wrong),
        ]  # fmt: skip


def personal_labels(name: str) -> set[tuple[str, str]]:
    """Table and column, in lower case, that are personal by hand."""
    with (LABELS / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return {
            (row["table"].lower(), row["column"].lower()) for row in csv.DictReader(file) if row["label"] == "personal"
        }


def _columns(url: str) -> dict[str, tuple[str, str, int, bool]]:
    """By `schema.table.column`: table and column in lower case, how many values there are, and whether it refers."""
    with psycopg.connect(url) as connection:
        rows = connection.execute(
            """select n.nspname || '.' || c.relname || '.' || a.attname, lower(c.relname), lower(a.attname),
                 format('select count(%I) from %I.%I', a.attname, n.nspname, c.relname),
                 exists (select 1 from pg_constraint where contype = 'f' and conrelid = c.oid and attnum = any(conkey))
               from pg_class c join pg_namespace n on n.oid = c.relnamespace join pg_attribute a on a.attrelid = c.oid
               where relkind in ('r', 'p') and not relispartition and attnum > 0 and not attisdropped
                 and attgenerated = '' and n.nspname not in ('pg_catalog', 'information_schema')"""
        ).fetchall()
        return {
            name: (table, column, connection.execute(query).fetchone()[0], refers)  # type: ignore[index]
            for name, table, column, query, refers in rows
        }


def _run(outcome: Outcome, step: str, *arguments: str) -> str:
    began = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-m", "sfumato", *arguments], capture_output=True, text=True, check=False, env=dict(os.environ)
    )
    outcome.seconds[step], outcome.codes[step] = time.monotonic() - began, done.returncode
    if done.returncode:
        outcome.told.append(f"{step}: {done.stderr.strip()[-600:]} {done.stdout.strip()[-900:]}")
    return done.stdout


def answered(draft: dict, personal: set[str], outcome: Outcome) -> dict:
    """The draft with an answer to every question: what is labelled personal is masked, all else as proposed."""
    columns = {}
    for name, entry in draft["columns"].items():
        if entry["role"] != "review":
            columns[name] = entry
            continue
        outcome.questions += 1
        if name in personal and entry.get("proposed", "other") == "other":
            columns[name] = {"role": "replaced", "domain": {"empty": True}}
        elif entry.get("proposed") == "replaced":
            columns[name] = {"role": "replaced", "domain": entry["domain"]}
        else:
            columns[name] = {"role": "other"}
    return {**draft, "columns": columns}


def run(name: str, snapshots: Path, server: str, folder: Path) -> Outcome:
    """All steps for one schema."""
    repository, load = SCHEMAS[name]
    snapshot, outcome = Snapshot(snapshots / repository / "repo"), Outcome(name)
    outcome.commit = snapshot.git("rev-parse", "HEAD").strip()
    source, target = f"{server}/public_{name}", f"{server}/public_{name}_target"
    with psycopg.connect(f"{server}/postgres", autocommit=True) as connection:
        for url in (source, target):
            database = url.rpartition("/")[2]
            if url == target or "keep" not in sys.argv:
                connection.execute(f"drop database if exists {database} with (force)")  # type: ignore[arg-type]
                connection.execute(f"create database {database} template template0")  # type: ignore[arg-type]
    if "keep" not in sys.argv:
        load(snapshot, source)
        fill(source)
    os.environ |= {"SFUMATO_SOURCE": source, "SFUMATO_TARGET": target}
    draft, policy, release = (folder / f"{name}{end}" for end in (".draft.yaml", ".yaml", ".release"))
    draft.unlink(missing_ok=True)
    draft.with_suffix(".left-out.yaml").unlink(missing_ok=True)
    _run(outcome, "discover", "discover", source, "--target", target, "--out", str(draft))
    if outcome.codes["discover"]:
        return outcome
    tree = yaml.safe_load(draft.read_text())
    columns, labels = _columns(source), personal_labels(name)
    written = {one: one if one in tree["columns"] else one.partition(".")[2] for one in columns}
    personal = {one for one, (table, column, _, _) in columns.items() if (table, column) in labels}
    for one in sorted(personal):
        entry = tree["columns"].get(written[one], {"role": "other"})
        if columns[one][3] or not columns[one][2]:
            continue  # follows what it refers to, or has no values
        outcome.labelled += 1
        outcome.replaced += entry["role"] == "replaced"
        outcome.asked += entry["role"] == "review"
        together = {member for group in tree["data"].get("consistent", ()) for member in group}
        if entry["role"] == "other" and written[one] not in together:
            outcome.copied.append(one)
    tree = answered(tree, {written[one] for one in personal}, outcome)
    policy.write_text(yaml.safe_dump(tree, sort_keys=False, allow_unicode=True, width=1000))
    _run(outcome, "check", "check", str(policy), "--strict")
    _run(outcome, "publish", "publish", str(policy), "--out", str(release), "--no-report")
    if outcome.codes["publish"]:
        return outcome
    _run(outcome, "verify", "verify", str(release), "--original", source, "--target", target)
    together = {member for group in tree["data"].get("consistent", ()) for member in group}
    new = {one for one, entry in tree["columns"].items() if entry["role"] == "replaced"} | together
    changed = {one for one in columns if written[one] in new}
    outcome.judged = judge(source, target, changed, personal)
    return outcome


def main(arguments: Sequence[str]) -> None:
    snapshots, server = Path(arguments[0]), arguments[1].rstrip("/")
    names = [one for one in arguments[2:] if one in SCHEMAS] or list(SCHEMAS)
    known = {}
    if RESULTS.exists():
        with RESULTS.open(newline="") as file:
            known = {row[0]: row for row in list(csv.reader(file))[1:]}
    print(HEAD)
    kept = os.environ.get("SFUMATO_KEPT", "")
    with tempfile.TemporaryDirectory(prefix="sfumato-public-") as made:
        for name in names:
            outcome = run(name, snapshots, server, Path(kept or made))
            print(",".join(map(str, outcome.row())), flush=True)
            for line in (*outcome.told, *outcome.wrong):
                print(f"    {line}", flush=True)
            known[name] = [str(one) for one in outcome.row()]
    with RESULTS.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(HEAD.split(","))
        writer.writerows(known[name] for name in SCHEMAS if name in known)


if __name__ == "__main__":
    main(sys.argv[1:])
