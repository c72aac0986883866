"""Every model on Adult twice: as the audit finds it, and from its definition, by counters and loops over the published
rows.

    python -m benchmarks.adult_by_definition

The release is ARX's optimum (one level per column, k = 5, 5 % may be suppressed: loss 0.1783); for claims about a
population the sample is every ninth record, and everybody the population. Hidden are occupation, and hours per week for
distances of numbers. Risks of the table as it is (`sfumato risk`) are recomputed in `tests/risk`. Results:
``results/adult-by-definition.csv``."""

from __future__ import annotations

import csv
import gzip
import math
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import sfumato as sf
from sfumato.audit.certify import judge_claims
from sfumato.policy.policy import public_policy
from sfumato.release.folder import read_folder

ADULT = Path(__file__).resolve().parents[2] / "shared" / "data" / "adult"
RESULTS = Path(__file__).parent / "results" / "adult-by-definition.csv"
FILES = {"sex": "sex", "age": "age", "race": "race", "marital-status": "marital-status", "education": "education",
         "native-country": "native-country", "workclass": "workclass", "income": "salary-class"}  # fmt: skip
Row = Mapping[str, str]
Found = tuple[str, float, float]
"""What, as the audit finds it, and from the definition."""


def adult() -> list[dict[str, str]]:
    with gzip.open(ADULT / "adult_30162.csv.gz", "rt", newline="") as file:
        return list(csv.DictReader(file))


def tree() -> list[list[str]]:
    """ARX's hierarchy of occupations: rows leaf, …, root."""
    rows = (ADULT / "hierarchies_arx" / "adult_hierarchy_occupation.csv").read_text(encoding="utf-8").splitlines()
    return [row.split(";") for row in rows if row]


def policy(protect: list[Any], **more: Any) -> dict[str, Any]:
    hierarchies = {name: str(ADULT / "hierarchies_arx" / f"adult_hierarchy_{file}.csv") for name, file in FILES.items()}
    columns: dict[str, Any] = {
        name: {"role": "quasi-identifier", "hierarchy": file} for name, file in hierarchies.items()
    }
    columns |= {"occupation": "sensitive", "hours-per-week": "sensitive"}
    utility = {"suppress_at_most": "5%"}
    return {"version": 1, "columns": columns, "protect": protect, "method": "global", "utility": utility} | more


def held(model: str, hide: str = "occupation", **level: Any) -> dict[str, Any]:
    return {"hide": hide, "by": {model: level}}


GAME = {"benefit": 300, "loss": 1200, "gain": 1200, "cost": 4}


def claims() -> list[dict[str, Any]]:
    """Each at a level that is only there to be measured."""
    return [
        {"k-anonymity": {"k": 5}}, held("p-sensitivity", p=1), held("l-diversity", l=1), held("l-diversity", l=1,
        kind="frequency"),
        held("l-diversity", l=1, kind="entropy"), held("l-diversity", l=1, kind="recursive", c=3),
        held("entropy-diversity", l=1),
        held("entropy-diversity", l=1, estimator="grassberger"), held("alpha-k-anonymity", alpha=1, k=5),
        held("t-closeness", t=1),
        held("t-closeness", "hours-per-week", t=1, distance="ordered"),
        held("t-closeness", t=1, distance="hierarchical", tree=tree()), held("beta-likeness", beta=1000),
        held("beta-likeness", beta=1000, kind="enhanced"), held("delta-disclosure", delta=100),
        {"average-risk": {"risk": 1}},
        {"profitability": GAME},
    ]  # fmt: skip


class Plain:
    """The definitions, on groups of rows that look alike."""

    def __init__(self, rows: Sequence[Row]) -> None:
        groups: dict[tuple[str, ...], list[Row]] = {}
        for row in rows:
            groups.setdefault(tuple(row[name] for name in FILES), []).append(row)
        self.groups, self.rows = list(groups.values()), rows

    def spreads(self, column: str) -> Iterator[tuple[Counter[str], int]]:
        for members in self.groups:
            yield Counter(row[column] for row in members), len(members)

    def whole(self, column: str) -> Counter[str]:
        return Counter(row[column] for row in self.rows)

    def figures(self) -> Iterator[float]:
        """In the order of `claims`."""
        spreads = list(self.spreads("occupation"))
        shares = [[n / size for n in count.values()] for count, size in spreads]
        entropies = [-sum(p * math.log(p) for p in share) for share in shares]
        yield min(size for _, size in spreads)
        yield min(len(count) for count, _ in spreads)
        yield min(len(count) for count, _ in spreads)
        yield min(1 / max(share) for share in shares)
        yield math.exp(min(entropies))
        yield min(recursive(sorted(count.values(), reverse=True), 3) for count, _ in spreads)
        yield math.exp(min(entropies))
        yield math.exp(min(grassberger(count, size) for count, size in spreads))
        yield max(max(share) for share in shares)
        whole, n = self.whole("occupation"), len(self.rows)
        gaps = [{value: count[value] / size - whole[value] / n for value in whole} for count, size in spreads]
        yield max(sum(map(abs, gap.values())) / 2 for gap in gaps)
        yield max(
            ordered(count, size, self.whole("hours-per-week"), n) for count, size in self.spreads("hours-per-week")
        )
        yield max(in_tree(gap, tree()) for gap in gaps)
        gains = [(gap[v] / (whole[v] / n), whole[v] / n) for gap in gaps for v in gap if gap[v] > 0]
        yield max(gain for gain, _ in gains)
        yield max(1e9 if gain > -math.log(p) else gain for gain, p in gains)
        yield max(
            abs(math.log(count[v] / size / (whole[v] / n))) if count[v] else 1e9
            for count, size in spreads
            for v in whole
        )
        yield sum(1 / len(members) for members in self.groups for _ in members) / n
        fewest = min(map(len, self.groups))
        yield GAME["loss"] / fewest if GAME["gain"] / fewest > GAME["cost"] else 0.0


def recursive(ranked: list[int], c: int) -> int:
    """The largest l with r₁ < c (r_l + … + r_m)."""
    return max((l for l in range(1, len(ranked) + 1) if ranked[0] < c * sum(ranked[l - 1 :])), default=0)


def grassberger(count: Counter[str], size: int) -> float:
    """G(N) − Σ (n/N) G(n), of no more values than there are: ψ by harmonic numbers, the integral as the rest of ln
    2."""

    def g(n: int) -> float:
        rest = math.log(2) - sum((-1) ** (j + 1) / j for j in range(1, n))
        return sum(1 / j for j in range(1, n)) - 0.5772156649015329 - rest

    return min(g(size) - sum(n / size * g(n) for n in count.values()), math.log(len(count)))


def ordered(count: Counter[str], size: int, whole: Counter[str], n: int) -> float:
    """The sum of the gaps of cumulative shares over the number of steps between numbers."""
    running = total = 0.0
    for value in sorted(whole, key=float):
        running += count[value] / size - whole[value] / n
        total += abs(running)
    return total / (len(whole) - 1)


def in_tree(gap: Mapping[str, float], rows: list[list[str]]) -> float:
    """From the bottom up: what is too much in some children of a node goes to others, at the height of the node."""
    rest, cost, levels = dict(gap), 0.0, len(rows[0]) - 1
    for height in range(1, levels + 1):
        above = {row[height - 1]: row[height] for row in rows}
        children: dict[str, list[float]] = {}
        for child, extra in rest.items():
            children.setdefault(above[child], []).append(extra)
        cost += sum(min(sum(e for e in es if e > 0), -sum(e for e in es if e < 0)) * height for es in children.values())
        rest = {node: sum(extras) for node, extras in children.items()}
    return cost / levels


LEVEL = {
    "t-closeness": "t", "average-risk": "risk", "profitability": "benefit", "alpha-k-anonymity": "alpha",
    "p-sensitivity": "p",
    "beta-likeness": "beta", "delta-disclosure": "delta", "k-anonymity": "k", "k-map": "k", "delta-presence": "at_most",
}  # fmt: skip


def levels(data: list[dict[str, str]]) -> list[Found]:
    """One release, all claims."""
    table = {name: [row[name] for row in data] for name in (*FILES, "occupation", "hours-per-week")}
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "release"
        publication = sf.publish(sf.Policy.parse(policy(claims()[:1])), data=table)
        publication.write(folder, report=False)
        measured = sf.Policy.parse(policy(claims()))
        (folder / "policy.yaml").write_text(public_policy(measured, {"global": {}}, folder), encoding="utf-8")
        findings = judge_claims(read_folder(folder))
    rows = publication.release.parts["data"].table.to_pylist()
    plain = list(Plain(rows).figures())
    return [
        (told(one), float(one.achieved[LEVEL.get(one.model, "l")]), each)
        for one, each in zip(findings, plain, strict=True)
    ]


def told(finding: Any) -> str:
    words = [
        str(finding.required[key])
        for key in ("kind", "distance", "estimator", "attacker", "game")
        if key in finding.required
    ]
    return " ".join([finding.model, *words])


def of_population(data: list[dict[str, str]]) -> list[Found]:
    """Every ninth record is published; the claims speak of everybody."""
    journalist = {"average-risk": {"risk": 1, "attacker": "journalist"}}
    marketer = {"average-risk": {"risk": 1, "attacker": "marketer"}}
    told_of = [
        {"k-map": {"k": 5}},
        {"delta-presence": {"at_most": 0.9}},
        journalist,
        marketer,
        {"profitability": GAME | {"game": "journalist"}},
    ]
    sample = data[::9]
    with tempfile.TemporaryDirectory() as place:
        file = Path(place) / "everybody.csv"
        with file.open("w", newline="") as out:
            writer = csv.DictWriter(out, list(FILES), extrasaction="ignore")
            writer.writeheader()
            writer.writerows(data)
        tree = policy(told_of, population={"file": str(file)})
        table = {name: [row[name] for row in sample] for name in (*FILES, "occupation", "hours-per-week")}
        publication = sf.publish(sf.Policy.parse(tree), data=table)
        publication.write(Path(place) / "release", report=False)
        findings = sf.verify(Path(place) / "release", original=table, population=str(file)).findings[: len(told_of)]
    rows = publication.release.parts["data"].table.to_pylist()
    return [
        (told(one), float(one.achieved[LEVEL[one.model]]), each)
        for one, each in zip(findings, everybody(rows, data), strict=True)
    ]


def everybody(rows: Sequence[Row], data: Sequence[Row]) -> Iterator[float]:
    """k-map, δ-presence, journalist, marketer and the journalist's game, from how many people each published
    combination fits."""
    paths = {}
    for name, file in FILES.items():
        text = (ADULT / "hierarchies_arx" / f"adult_hierarchy_{file}.csv").read_text(encoding="utf-8")
        paths[name] = {line.split(";")[0]: line.split(";") for line in text.splitlines() if line}
    shown = Counter(tuple(row[name] for name in FILES) for row in rows)
    labels = {name: {row[name] for row in rows} for name in FILES}
    level = {
        name: {leaf: [one for one in path if one in labels[name]] for leaf, path in paths[name].items()}
        for name in FILES
    }
    people: Counter[tuple[str, ...]] = Counter()
    for record in data:
        options = [level[name][record[name]] for name in FILES]
        if all(options):
            people[tuple(one[0] for one in options)] += 1  # one level per column: a value has one label
    published = {look: people[look] for look in shown}
    fewest = min(published.values())
    yield fewest
    yield max(count / published[look] for look, count in shown.items())
    linked = sum(count / published[look] for look, count in shown.items()) / sum(shown.values())
    yield max(linked, len(shown) / sum(published.values()))
    yield linked
    yield GAME["loss"] / fewest if GAME["gain"] / fewest > GAME["cost"] else 0.0


def main() -> None:
    data = adult()
    found = [*levels(data), *of_population(data)]
    with RESULTS.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(("model", "audit", "definition"))
        writer.writerows((name, f"{one:.6g}", f"{other:.6g}") for name, one, other in found)
    for name, one, other in found:
        print(
            f"{name:40} {one:.6g} {other:.6g}"
            f" {'' if math.isclose(one, other, rel_tol=6e-6, abs_tol=1e-6) else 'DIFFERS'}"
        )


if __name__ == "__main__":
    main()
