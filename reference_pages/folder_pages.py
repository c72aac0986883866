"""Generate the pages about release folders and exit codes, from a small release and from the error classes."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from sfumato.core import errors
from sfumato.core.errors import SfumatoError

KEYS: Mapping[str, str] = {
    "holds": "`true`: every finding holds; `false`: one is violated; `null`: one is not assessed",
    "complete": "whether every finding was assessed",
    "schema": "version of this schema",
    "findings": "the findings; see below",
    "attacks": "attacks that apply and that no finding covers: `name`, and `applies` in a sentence",
    "records": "`input`, `published` and `suppressed` records",
    "utility": "utility figures that can be computed from the folder; see [metrics](catalogue.md#metrics)",
    "assumptions": "what the findings suppose about adversary and data, in sentences",
    "limits": "page that says what is not promised",
    "method": "the method that made the release",
    "version": "the version of Sfumato",
    "ledger": "with a ledger: `release` (number) and `head` (digest)",
    "accepted": "warnings and open points that the data holder accepts: `point`, `reason`, and `by` (a name)",
}
FINDING: Mapping[str, str] = {
    "model": "name of the model or check",
    "title": "name for people",
    "sentence": "the result as a sentence with its numbers",
    "code": "stable code of the result",
    "holds": "`true`, `false`, or `null` if it was not assessed or only measured",
    "required": "the required levels",
    "achieved": "the measured levels",
    "given": "columns that the adversary knows",
    "hide": "protected columns",
    "grade": "`exact`, `bound (…)`, `estimate (…)`, `measured` or `not judged` (not assessed)",
    "reason": "why it is violated or not assessed, or how the figure was found",
    "group": "`privacy`, `integrity`, … : where outputs show it",
    "certainty": "the grade in one word: `exact`, `bound`, `estimate`, `measured` or `not-assessed`",
    "details": "further figures of the finding",
    "needs": "the evidence that is missing",
}
MANIFEST: Mapping[str, str] = {
    "format": "version of the folder format",
    "form": "what is published, such as `recoded table`",
    "version": "the version of Sfumato",
    "files": "every file with its `sha256`, and `rows` for parts",
    "public": "parameters that are disclosed on purpose, such as μ of a perturbed graph",
    "date": "the day of publication (UTC; `SOURCE_DATE_EPOCH` sets it)",
    "csv": "`separator` and `decimal_comma` (columns) of the CSV files, where they are not a comma and points",
}
FILES: Mapping[str, str] = {
    "manifest.json": "form, files with digests, public parameters",
    "certificate.json": "findings, utility, assumptions",
    "policy.yaml": "the policy without anything private",
    "data.csv": "the published part; several parts have names of their own, `--format parquet` gives `.parquet`",
    "report.html": "the public report (without `--no-report`)",
    "croissant.json": "descriptor for catalogues and data loaders (Croissant 1.0; without `--no-report`)",
    "datapackage.json": "descriptor for archives and analysis tools (Data Package; without `--no-report`)",
    "statement.dsse.json": "the signature (with `--sign`)",
    "target.json": "result of loading a test database; not signed",
}
FORMS: Mapping[str, str] = {
    "recoded table": "`data.csv`: published columns; a generalized cell is a label such as `30-39`, `Europe` or `*`",
    "anatomy": "`data.csv` with a column `bucket`; `sensitive.csv`: `bucket,value,count`",
    "sub-tables": "`table-1.csv`, `table-2.csv`, …; with buckets also `table-n-sensitive.csv`",
    "baskets": "`data.csv`: `items`, `distance_items`, `threshold`, labels",
    "graph": "`edges.csv`: `source,target`; `nodes.csv` if labels are published",
    "replaced table": "`data.csv`: the columns of the source",
}
_POLICY = {
    "version": 1,
    "columns": {"age": "quasi-identifier", "illness": "sensitive"},
    "protect": [{"k-anonymity": {"k": 2}}],
    "method": {"mondrian": {}},
}
_DATA = {"age": ["30", "30", "40", "40"], "illness": ["flu", "gout", "flu", "cold"]}


@cache
def folder_example() -> tuple[dict[str, Any], dict[str, Any]]:
    """Return certificate and manifest of a release of four records."""
    from sfumato.policy.policy import Policy
    from sfumato.workflow.publish import publish

    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "release"
        publish(Policy.parse(_POLICY), _DATA).write(folder, report=False)
        return tuple(
            json.loads((folder / name).read_text(encoding="utf-8")) for name in ("certificate.json", "manifest.json")
        )


def certificate_page() -> str:
    """Return the page about a release folder."""
    certificate, manifest = folder_example()
    first = certificate["findings"][0]
    lines = ["# Release folder and certificate", ""]
    lines += ["A release folder contains only what may be published. Its files:", ""]
    lines += _table("file", FILES, FILES)
    lines += ["Published parts by form:", "", *_table("form", FORMS, FORMS)]
    lines += ["## `certificate.json`", "", *_table("key", KEYS, [*certificate, "ledger"])]
    lines += ["## A finding", "", *_table("key", FINDING, [*first, "reason"])]
    lines += [
        "This finding is from a release of four records:",
        "",
        "```json",
        json.dumps(first, indent=1, ensure_ascii=False),
        "```",
        "",
    ]
    lines += ["## `manifest.json`", "", *_table("key", MANIFEST, manifest)]
    lines += ["## Beside the folder", "", "These files are private. They have mode 0600 and must not be shared.", ""]
    lines += _table("file", _PRIVATE, _PRIVATE)
    lines += ["Keys are only added, never changed. Folders of earlier versions stay readable."]
    return "\n".join(lines) + "\n"


_PRIVATE = {
    "DIR.private.html": "report that compares with the original",
    "DIR.private.trace": "provenance, where it cannot be derived from the original",
    "OUT.unfinished": "state of a stopped solver run",
}


def _table(heading: str, meanings: Mapping[str, str], keys: Any) -> Iterator[str]:
    yield f"| {heading} | meaning |"
    yield "| --- | --- |"
    yield from (f"| `{key}` | {meanings.get(key, '–')} |" for key in dict.fromkeys(keys))
    yield ""


def exit_codes_page() -> str:
    """Return the page about exit codes."""
    lines = [
        "# Exit codes",
        "",
        (
            "Every error is one line on standard error: `error: what — where — what to try`. It contains no value of a"
            " person."
        ),
        "",
    ]
    lines += [
        "| code | meaning | raised in Python |",
        "| ---: | --- | --- |",
        "| 0 | success; `verify`: nothing is violated | – |",
    ]
    found: dict[int, list[str]] = {}
    for name, cls in vars(errors).items():
        if isinstance(cls, type) and issubclass(cls, SfumatoError):
            found.setdefault(cls.exit_code, []).append(f"`{name}`")
    lines += [f"| {code} | {CODES.get(code, '–')} | {', '.join(names)} |" for code, names in sorted(found.items())]
    lines += ["| 130 | interrupted (Ctrl-C) | `KeyboardInterrupt` |", ""]
    lines += ["`--debug` shows the traceback. `--json` prints one JSON document on standard output and nothing else."]
    return "\n".join(lines) + "\n"


CODES: Mapping[int, str] = {
    1: "`verify`: something is violated; or the folder cannot be read",
    2: "the policy or the command line is wrong; `check --strict`: warnings remain",
    3: "the data cannot be read, or does not fit the policy",
    4: "no release was found that satisfies the policy; the message has the reason and a suggestion",
    5: "the audit refused the release; nothing was published",
    6: "the ledger is broken, in use, or belongs to other data",
    7: "a package is missing; the message has the command that installs it",
    8: "a file or folder cannot be read or written",
}
"""Exit code → meaning."""
