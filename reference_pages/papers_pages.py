"""Generate ``docs/explanation/papers/``: places in the code, reproduced figures and errata of each paper.

What lives where is read from the citations in the code (``[sequential Def. 4.2]``, ``paper = "…"``), so it stays true;
the errata are a list of their own (``docs/explanation/papers/errata.yaml``), each with the test that shows it."""

from __future__ import annotations

import re
from collections import defaultdict
from functools import cache
from pathlib import Path
from typing import Any

from sfumato.policy.yaml_document import read_yaml

ROOT = Path(__file__).resolve().parents[1]
ERRATA = ROOT / "docs" / "explanation" / "papers" / "errata.yaml"
REPOSITORY = "../../../"
PAPERS: dict[str, tuple[str, str, str]] = {
    "obfuscation": (
        "Constrained Obfuscation of Relational Databases",
        "Shmueli, Zrihen, Yahalom, Tassa",
        "Rules become constraint problems. Testers get new values that satisfy every rule.",
    ),
    "boundaries": (
        "P-Sensitive K-Anonymity with Generalization Constraints",
        "Campan, Truta, Cooper",
        "Limits on the generalization of each value, and clustering within them.",
    ),
    "versatile": (
        "Versatile Publishing For Privacy Preservation",
        "Jin, Zhang, Zhang, Das",
        "Any set of privacy rules between columns, satisfied by several tables in Guardian Normal Form.",
    ),
    "multitype": (
        "Privacy Protection via Anonymization for Publishing Multi-Type Data",
        "Xue",
        "Set-valued records, social graphs, and numbers that keep their pattern.",
    ),
    "sequential": (
        "Limiting Disclosure of Sensitive Data in Sequential Releases of Databases",
        "Shmueli, Tassa, Wasserstein, Shapira, Rokach",
        "Releases of the same people, each judged together with all before it.",
    ),
}
CURVES: dict[str, list[tuple[str, str]]] = {
    "obfuscation": [
        (
            "obfuscation-figure-9",
            "Figure 9: solver blocks are cheapest at q = 100 to 200, as in the paper; exact samplers need 0.0024 s",
        ),
        (
            "obfuscation-figure-10",
            "Figure 10: diversity against the block; LM grows with it, LM* is at IG's level from q = 5 on",
        ),
        ("obfuscation-figure-11", "Figure 11: time is linear in the number of records"),
    ],
    "boundaries": [],
    "versatile": [
        (
            "versatile-texas-c-kl_divergence",
            "§6: divergence against the number of rules; both decompositions are below single columns",
        ),
        ("versatile-texas-l-query_error", "§6: query error against l"),
    ],
    "multitype": [
        ("baskets-orders", "§3.7: bit error rate by order: Gray, Gray-TSP, and our window order"),
        (
            "graph_attacks",
            "§4.6: attacks on planted accounts; with exact intervals the walk succeeds at μ = 0.001, against the text",
        ),
        ("graph_utility", "§4.7: figures recovered after perturbation"),
        ("patterns-5.5-distortion", "Figure 5.5: distortion"),
        (
            "patterns-5.6-clustering",
            "Figure 5.6: clustering error; reproduced on independent uniform columns, not on Adult",
        ),
    ],
    "sequential": [
        ("sequential_releases", "§7: cuts and cells, release after release"),
        ("sequential_releases_real", "The same on real data with a cyclic schema"),
    ],
}
NOT_REPRODUCED = {
    "obfuscation": "Absolute times. §6.2: the paper does not specify its Mondrian and its taxonomies.",
    "boundaries": "Figure 5 and Table 5: the text has no labels and nothing above the boundaries.",
    "versatile": "Absolute times. The Texas data is replaced by a table of the same shape.",
    "multitype": "The text at hand has no figures; results are compared with its sentences. Figure 5.6 on Adult.",
    "sequential": "The text at hand has no figures; results are compared with its sentences.",
}
_CITED = re.compile(r"\[(" + "|".join(PAPERS) + r")[\s,#]+([^\]]+)\]")
_DECLARED = re.compile(r'paper: ClassVar\[str\] = "(' + "|".join(PAPERS) + r') ([^"]+)"')


@cache
def citations() -> dict[str, dict[str, list[str]]]:
    """Paper → place in it → files of the code that cite it."""
    found: dict[str, dict[str, set[str]]] = {key: defaultdict(set) for key in PAPERS}
    for path in sorted((ROOT / "src").rglob("*.py")):
        if "catalogue" in path.parts:
            continue
        text = path.read_text(encoding="utf-8")
        for key, place in [*_CITED.findall(text), *_DECLARED.findall(text)]:
            found[key][" ".join(place.replace("#", " ").split())].add(path.relative_to(ROOT).as_posix())
    return {
        key: {place: sorted(files) for place, files in sorted(places.items(), key=_order)}
        for key, places in found.items()
    }


def _order(entry: tuple[str, Any]) -> tuple[list[float], str]:
    return [float(number) for number in re.findall(r"\d+(?:\.\d+)?", entry[0])[:3]], entry[0]


@cache
def errata() -> dict[str, list[dict[str, str]]]:
    """Paper → what is printed, what is right, and the test."""
    tree: dict[str, list[dict[str, str]]] = read_yaml(ERRATA).tree
    return tree


@cache
def places_of_tests() -> dict[str, str]:
    """Name of a test → its file."""
    found = {}
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        for name in re.findall(r"^\s*def (test_\w+)", path.read_text(encoding="utf-8"), re.MULTILINE):
            found[name] = path.relative_to(ROOT).as_posix()
    return found


def index_page() -> str:
    """The page that leads to the five."""
    lines = [
        "# The papers",
        "",
        "Sfumato implements five documents. Each page says where a definition or algorithm is in the code.",
        (
            "It lists what was reproduced and what was not. It also lists errors of the document, each with the test"
            " that shows it."
        ),
        "",
        "| paper | cited in | errata |",
        "| --- | --- | --- |",
    ]
    for key, (title, authors, _) in PAPERS.items():
        files = {file for names in citations()[key].values() for file in names}
        lines.append(f"| [{title}]({key}.md) ({authors}) | {len(files)} files | {len(errata()[key])} |")
    return "\n".join(lines) + "\n"


def paper_page(key: str) -> str:
    """One document."""
    title, authors, sentence = PAPERS[key]
    lines = [f"# {title}", "", f"{authors}. {sentence} Cited as `{key}`.", "", "## Places in the code", ""]
    lines += ["| place | code |", "| --- | --- |"]
    for place, files in citations()[key].items():
        links = ", ".join(f"[{_short(file)}]({REPOSITORY}{file})" for file in files)
        lines.append(f"| {place.replace('|', '/')} | {links} |")
    lines += ["", "## What was reproduced", ""]
    if not CURVES[key]:
        lines += ["Table 6, all 21 rows of both columns, on 45,222 records of Adult (`tests/house/test_adult.py`).", ""]
    for name, words in CURVES[key]:
        lines += [f"![{words}](curves/{name}.svg)", "", f"*{words}.*", ""]
    lines += ["`benchmarks/README.md` has the commands that repeat every figure.", ""]
    lines += ["## What could not be reproduced", "", NOT_REPRODUCED[key], ""]
    lines += ["## Errata", "", "| place | printed | right | shown by |", "| --- | --- | --- | --- |"]
    for entry in errata()[key]:
        shown = _shown(entry["test"])
        lines.append(f"| {entry['place']} | {entry['printed']} | {entry['right']} | {shown} |")
    return "\n".join(lines) + "\n"


def _short(file: str) -> str:
    return file.removeprefix("src/sfumato/").removesuffix(".py")


def _shown(name: str) -> str:
    return f"[{name.removeprefix('test_').replace('_', ' ')}]({REPOSITORY}{places_of_tests()[name]})"


def curves() -> list[str]:
    """The names of the figures that the pages show."""
    return [name for entries in CURVES.values() for name, _ in entries]
