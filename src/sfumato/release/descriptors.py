"""Descriptors of a release folder for other tools: Croissant (`croissant.json`) and Data Package (`datapackage.json`).

Catalogues, notebooks and archives read these formats. Both files name the published tables, their columns and their
digests, and point to the certificate.

Invariants
    I1  A descriptor is a function of the manifest, the policy in the folder and the names of the published columns, so
        the audit makes it again and compares. Digests are not compared: the manifest has them, and readers
        check their own.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from sfumato.io.csv_format import CsvDialect
from sfumato.release.view import ReleaseView

CROISSANT, PACKAGE = "croissant.json", "datapackage.json"
DESCRIPTORS = (CROISSANT, PACKAGE)
_DIGEST = re.compile("[0-9a-f]{64}")
_KINDS = {"csv": "text/csv", "parquet": "application/x-parquet"}
_ABOUT = (
    "Published with Sfumato {version}. certificate.json states what is promised about the people in the data, and"
    " 'sfumato verify' audits it."
)


def describe_folder(exhibit: ReleaseView, manifest: Mapping[str, Any]) -> dict[str, str]:
    """Return the text of each descriptor by its file name; empty where a part is a folder of files."""
    files = {name: entry for name, entry in manifest["files"].items() if "rows" in entry}
    if any("/" in name for name in files):
        return {}
    tables = [
        (name, str(entry["sha256"]), exhibit.parts[name.rpartition(".")[0]].held.column_names)
        for name, entry in sorted(files.items())
        if name.rpartition(".")[0] in exhibit.parts
    ]
    title, about = exhibit.policy.title or "release", _ABOUT.format(version=manifest["version"])
    separator = CsvDialect.read(manifest.get("csv")).separator
    trees = {
        CROISSANT: _croissant(title, about, tables, records=separator == ","),
        PACKAGE: _package(title, about, tables, separator),
    }
    return {name: json.dumps(tree, indent=1, ensure_ascii=False) + "\n" for name, tree in trees.items()}


def wrong_descriptors(exhibit: ReleaseView, manifest: Mapping[str, Any]) -> list[str]:
    """Return the names of the descriptors in a folder that say something else than its other files (I1)."""
    there = [name for name in DESCRIPTORS if name in manifest["files"]]
    if not there or exhibit.folder is None:
        return []
    right = describe_folder(exhibit, manifest)
    return [
        name
        for name in there
        if _DIGEST.sub("", (exhibit.folder / name).read_text(encoding="utf-8")) != _DIGEST.sub("", right.get(name, ""))
    ]


Described = tuple[str, str, Sequence[str]]
"""A file, its digest and its columns."""


def _package(title: str, about: str, tables: Sequence[Described], separator: str) -> dict[str, Any]:
    """A Data Package: https://datapackage.org/standard/data-package/."""
    resources = []
    for name, digest, columns in tables:
        stem, _, ending = name.rpartition(".")
        fields = [{"name": column, "type": "string"} for column in columns]
        schema = {"fields": fields} | ({"missingValues": [""]} if ending == "csv" else {})
        resources.append(
            {
                "name": stem.lower(),
                "path": name,
                "format": ending,
                "mediatype": _KINDS[ending],
                "hash": f"sha256:{digest}",
                "schema": schema,
            }
            | ({"dialect": {"delimiter": separator}} if ending == "csv" and separator != "," else {})
        )
    return {"name": "release", "title": title, "description": about, "resources": resources}


def _croissant(title: str, about: str, tables: Sequence[Described], *, records: bool) -> dict[str, Any]:
    """A Croissant data set: https://docs.mlcommons.org/croissant/docs/croissant-spec.html.

    The format knows no separator but the comma: `records` says whether readers can be led to single columns."""
    files = [
        {
            "@type": "cr:FileObject",
            "@id": name,
            "name": name,
            "contentUrl": name,
            "encodingFormat": _KINDS[name.rpartition(".")[2]],
            "sha256": digest,
        }
        for name, digest, _ in tables
    ]
    sets = [
        {
            "@type": "cr:RecordSet",
            "@id": stem,
            "name": stem,
            "field": [
                {
                    "@type": "cr:Field",
                    "@id": f"{stem}/{column}",
                    "name": column,
                    "dataType": "sc:Text",
                    "source": {"fileObject": {"@id": name}, "extract": {"column": column}},
                }
                for column in columns
            ],
        }
        for name, _, columns in (tables if records else [])
        for stem in [name.rpartition(".")[0]]
    ]
    return {
        "@context": _CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": "http://mlcommons.org/croissant/1.0",
        "name": title,
        "description": about,
        "distribution": files,
        "recordSet": sets,
    }


_CONTEXT = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "citeAs": "cr:citeAs",
    "column": "cr:column",
    "conformsTo": "dct:conformsTo",
    "cr": "http://mlcommons.org/croissant/",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "dct": "http://purl.org/dc/terms/",
    "extract": "cr:extract",
    "field": "cr:field",
    "fileObject": "cr:fileObject",
    "fileProperty": "cr:fileProperty",
    "fileSet": "cr:fileSet",
    "format": "cr:format",
    "includes": "cr:includes",
    "isLiveDataset": "cr:isLiveDataset",
    "key": "cr:key",
    "md5": "cr:md5",
    "parentField": "cr:parentField",
    "path": "cr:path",
    "recordSet": "cr:recordSet",
    "references": "cr:references",
    "regex": "cr:regex",
    "repeated": "cr:repeated",
    "replace": "cr:replace",
    "sc": "https://schema.org/",
    "separator": "cr:separator",
    "source": "cr:source",
    "subField": "cr:subField",
    "transform": "cr:transform",
}
"""The names of a Croissant file, as its specification lists them."""
