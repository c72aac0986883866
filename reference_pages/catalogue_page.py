"""Generate ``docs/reference/catalogue.md``: models, methods, metrics, attacks, kinds of data and demonstrations.

Definition, parameters, paper and kinds of data are read from the declarations. Formula, cost and example of an entry
are facts of this module; an entry without them is shown without them, and a test asks for them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from reference_pages.papers_pages import PAPERS
from sfumato.core.registry import catalogue
from sfumato.core.wording import summary_of
from sfumato.io.source import Source
from sfumato.models.base import Model
from sfumato.release.attack import Attack
from sfumato.release.method import Method
from sfumato.release.metric import Metric
from sfumato.ui.demos.scenario import Scenario

OPENING = """# Catalogue

Everything that a policy or a command can name. The page is generated from the code.
In formulas E is an equivalence class, p the share of a value in E and q its share in the whole release.
n is the number of records, d the number of quasi-identifiers, N the number of nodes.
"""
MODELS: Mapping[str, tuple[str, str]] = {
    "alpha-k-anonymity": ("\\|E\\| ≥ k and max p ≤ α", "{alpha-k-anonymity: {alpha: 0.5, k: 5}}"),
    "average-risk": ("mean of 1/\\|E\\| over all records ≤ risk", "{average-risk: {risk: 0.1}}"),
    "beta-likeness": ("(p − q)/q ≤ β; enhanced: ≤ min(β, −ln q)", "{beta-likeness: {beta: 1}}"),
    "degree-attack": (
        "(1 + TV)/2 ≤ success, TV between two published degree distributions",
        "{degree-attack: {apart: 10, success_at_most: 0.8}}",
    ),
    "delta-disclosure": ("\\|ln(p/q)\\| < δ for every value of the release", "{delta-disclosure: {delta: 1.5}}"),
    "delta-presence": (
        "at_least ≤ published/population ≤ at_most in every class",
        "{delta-presence: {at_least: 0.1, at_most: 0.5}}",
    ),
    "differential-privacy": (
        "P(R(D) ∈ S) ≤ e^ε P(R(D′) ∈ S) + δ",
        "{differential-privacy: {epsilon: 2, delta: 0.00001}}",
    ),
    "edge-privacy": ("ln((1 − μ)/μ) ≤ ε for edge perturbation", "{edge-privacy: {epsilon: 1}}"),
    "entropy-diversity": ("−Σ p ln p ≥ ln l", "{entropy-diversity: {l: 2}}"),
    "k-anonymity": ("\\|E\\| ≥ k", "{k-anonymity: {k: 5}}"),
    "k-degree-anonymity": ("every published degree occurs at least k times", "{k-degree-anonymity: {k: 3}}"),
    "k-diversity": ("share of a value among the cliques of a person ≤ 1/k", "{k-diversity: {k: 2}}"),
    "k-linkability": ("distinct values among the cliques of a person ≥ k", "{k-linkability: {k: 3}}"),
    "k-map": ("people of the population in every class ≥ k", "{k-map: {k: 10}}"),
    "km-anonymity": ("rows that contain any m items ≥ k", "{km-anonymity: {k: 10, m: 2}}"),
    "l-diversity": (
        "distinct: values ≥ l; frequency: max p ≤ 1/l; entropy: −Σ p ln p ≥ ln l; recursive: r₁ < c (r_l + … + r_m)",
        "{l-diversity: {l: 3, kind: frequency}}",
    ),
    "neighbourhood": (
        "(1 + TV)/2 ≤ success, TV over edges to known nodes",
        "{neighbourhood: {known: 5, success_at_most: 0.8}}",
    ),
    "node-privacy": (
        "ε-differential privacy for neighboring graphs that differ in one node's edges",
        "{node-privacy: {epsilon: 1.0}}",
    ),
    "p-sensitivity": ("distinct values in E ≥ p for each sensitive column", "{p-sensitivity: {p: 2}}"),
    "profitability": (
        "benefit − expected loss by an attack ≥ 0 for every record",
        "{profitability: {benefit: 1200, loss: 300, gain: 300, cost: 4}}",
    ),
    "structural-attack": (
        "P(planted path or pattern is found) ≤ success",
        "{structural-attack: {planted: 20, success_at_most: 0.05}}",
    ),
    "subset-anonymity": ("\\|E\\| ≥ k for every choice of m columns", "{subset-anonymity: {k: 3, m: 2}}"),
    "t-closeness": (
        "distance(p, q) ≤ t; equal: ½ Σ \\|p − q\\|; ordered and hierarchical: earth mover's distance",
        "{t-closeness: {t: 0.2}}",
    ),
}
"""Name → formula, example."""
METHODS: Mapping[str, tuple[str, str]] = {
    "anatomy": ("O(n)", "{anatomy: {}}"),
    "blocks": ("O(n log n) and a local search; a million sets in 34 CPU s", "{blocks: {insiders: 1}}"),
    "clustering": ("O(n²/k) comparisons of distinct records", "{clustering: {}}"),
    "degree-anonymity": ("O(N log N + added edges)", "{degree-anonymity: {}}"),
    "edge-perturbation": ("O(edges + flips); μN²/2 flips are published", "{edge-perturbation: {mu: 0.01}}"),
    "global": ("visits a part of the lattice; at most `nodes` of it", "{global: {}}"),
    "guardian": ("polynomial in columns and rules, O(n) per candidate split", "{guardian: {}}"),
    "linked": ("as the method named in `groups`, on people", "{linked: {groups: refined}}"),
    "local-suppression": ("O(n · C(d, m)) per round, within `seconds`", "{local-suppression: {}}"),
    "microaggregation": ("one column: O(n log n), optimal; several: O(n²/k)", "{microaggregation: {}}"),
    "mondrian": ("O(d · n log n); a million records in 4 CPU s", "{mondrian: {}}"),
    "multi-sensitive": ("an integer program over combinations of sensitive values", "{multi-sensitive: {}}"),
    "node-private-figures": ("O(edges)", "{node-private-figures: {limit: 32, people: 5300}}"),
    "noise": ("O(n · d²)", "{noise: {columns: [income], amount: 0.1}}"),
    "nonreciprocal": ("O(n log n + nk)", "{nonreciprocal: {}}"),
    "obfuscation": ("exact samplers: O(n); solver blocks: within `minutes`", "{obfuscation: {}}"),
    "optimal": ("column generation and an integer program within `seconds`", "{optimal: {seconds: 60}}"),
    "pattern-walk": ("O(steps · properties); parts are walked separately", "{pattern-walk: {linked_at_most: 0.1}}"),
    "pram": ("O(n)", "{pram: {columns: [city], keep: 0.8}}"),
    "private-figures": ("O(edges^1.5) for triangles", "{private-figures: {}}"),
    "refined": (
        "start methods and a search limited by `effort`: up to 0.5 s per 1,000 records and 45 s",
        "{refined: {seconds: 10}}",
    ),
    "related": ("as `linked`", "{related: {}}"),
    "relational": ("O(rows) with exact samplers, in pieces within `memory`", "{relational: {}}"),
    "sampled": ("O(n) per level combination", "{sampled: {}}"),
    "sequential": ("as `refined`; independent of the number of earlier releases", "{sequential: {}}"),
    "shuffling": ("O(n log n + n · d²)", "{shuffling: {columns: [income]}}"),
    "single-attribute": ("O(n)", "{single-attribute: {}}"),
    "swapping": ("O(n log n)", "{swapping: {columns: [income], window: 0.05}}"),
    "utility-aware": ("O(n), and graph coloring of the columns", "{utility-aware: {}}"),
}
"""Name → cost, example."""
METRICS: Mapping[str, str] = {
    "added_edges": "\\|E′ ∖ E\\|",
    "added_edges_gap": "(added − bound)/added",
    "average_class_size": "n / classes",
    "bit_error_rate": "\\|base △ set\\| / \\|set\\|, averaged",
    "clustering_error": "records in another cluster / n",
    "correlation_error": "mean \\|r − r′\\|",
    "discernibility": "Σ \\|E\\|² + n · suppressed",
    "distortion": "mean \\|x − x′\\| / \\|x\\|",
    "distribution_distance": "½ Σ \\|p − p′\\|",
    "entropy_loss": "mean of H(value given the cell), in bits",
    "kl_divergence": "Σ p ln(p/p′)",
    "loss": "mean of (s − 1)/(m − 1) for a cell that covers s of m values",
    "ntil": "mean of generalization height / hierarchy height",
    "optimality_gap": "(loss − bound)/loss",
    "pair_distance": "½ Σ \\|p − p′\\| over pairs of values",
    "query_error": "median of \\|count − estimate\\| / count",
    "variance_lost": "1 − var′/var",
}
"""Name → formula, for metrics that have one."""


def catalogue_page() -> str:
    """Return the whole page."""
    lines = [OPENING, "## Privacy models", "", *_models(), "## Methods", "", *_methods(), "## Metrics", ""]
    lines += [
        "`sfumato measure DIR --original DATA` prints them. Those that need no original are in the certificate.",
        "",
    ]
    lines += ["| name | definition | formula | goal | range | paper |", "| --- | --- | --- | --- | --- | --- |"]
    for name, cls in catalogue("metrics", Metric).items():
        paper = getattr(cls, "paper", "") or "–"
        lines.append(
            f"| `{name}` | {_first(cls)} | {METRICS.get(name, '–')} | {cls.goal} | {cls.range} | {_cited(paper)} |"
        )
    lines += ["", "## Attacks", "", *_attacks(), "## Kinds of data", ""]
    lines += [
        f"- `kind: {name}`: {_first(cls)} See [policy](policy.md#data)."
        for name, cls in catalogue("io", Source).items()
    ]
    lines += ["", "## Demonstrations", ""]
    lines += [
        f"- `sfumato demo --scenario {name}`: {_first(cls)}" for name, cls in catalogue("demos", Scenario).items()
    ]
    return "\n".join(lines) + "\n"


def _models() -> Iterator[str]:
    for name, cls in catalogue("models", Model).items():
        formula, example = MODELS.get(name, ("", ""))
        yield from _entry(
            name, cls, {"Formula": formula, "Data": ", ".join(cls.kinds)}, f"protect: [{example}]" if example else ""
        )


def _methods() -> Iterator[str]:
    for name, cls in catalogue("methods", Method).items():
        cost, example = METHODS.get(name, ("", ""))
        yield from _entry(
            name, cls, {"Cost": cost, "Data": ", ".join(cls.kinds)}, f"method: {example}" if example else ""
        )


def _attacks() -> Iterator[str]:
    for name, cls in catalogue("attacks", Attack).items():
        target = "TARGET " if "target" in cls.model_fields else ""
        needed = [key for key, field in cls.model_fields.items() if field.is_required() and key != "target"]
        options = " ".join(f"--{key.replace('_', '-')} …" for key in needed)
        yield from _entry(name, cls, {}, f"sfumato attack {name} {target}{options}".strip(), "attack-")


def _entry(name: str, cls: Any, facts: Mapping[str, str], example: str, anchor: str = "") -> Iterator[str]:
    yield f"### `{name}` {{#{anchor}{name}}}"
    yield ""
    yield _first(cls)
    yield ""
    shown = {**facts, "Paper": _cited(getattr(cls, "paper", ""))}
    yield from (f"- {word}: {fact}" for word, fact in shown.items() if fact)
    yield f"- Example: `{example}`" if example else ""
    yield ""
    fields = {key: field for key, field in cls.model_fields.items() if not field.exclude}
    if fields:
        yield "| parameter | default | meaning |"
        yield "| --- | --- | --- |"
        for key, field in fields.items():
            default = "required" if field.is_required() else _default(field)
            yield f"| `{key}` | {default} | {field.description} |"
        yield ""


def _cited(paper: str) -> str:
    """Link the papers that have a page."""
    key = paper.split(" ")[0].rstrip(";")
    return f"[{paper}](../explanation/papers/{key}.md)" if key in PAPERS else paper


def _default(field: Any) -> str:
    value = field.get_default(call_default_factory=True)
    return f"`{value}`" if value not in (None, "", {}, ()) else "–"


def _first(cls: Any) -> str:
    """Return the first sentence or paragraph of a docstring."""
    return summary_of(cls)
