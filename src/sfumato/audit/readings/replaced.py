"""A replaced table: what somebody who knows rules, domains and the way it was made believes about a person's original values.

Guarantee
    *Blind* parts (made without looking at the values they replace) tell nothing: the belief is the one before publication, uniform
    over all tables that obey the rules [obfuscation Theorem 5.1; Def. 5.3]. It is computed exactly where legal records can be
    listed, else estimated from the published rows, which are themselves draws from it. *Shuffled* parts leave the published
    frequencies. Parts made by LM or LM* are reverse engineered [obfuscation §5.5.2].

Notation
    kind of person   people with the same given values that matter for the hidden column
    grade            exact, or estimate ± d at 1 − α with d from the number of draws

Departures
    The outsider is taken to know which published row is whose (kept columns may tell) and the given values a part's rules
    mention. How a part was made is the manifest's word; it cannot be read off the data. Section 5.5.2 runs the method
    backwards with the method's own solver. The audit has none and may not borrow it, so LM and LM* are reverse engineered where
    uniform worlds can be counted (per-record rules and one total); for other rules it refuses to give a figure.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from sfumato.audit.base import Reading, judged
from sfumato.audit.legal_records import Joined, contributions, legal_records, part_of, shares
from sfumato.audit.reverse_engineering import linked, linked_at_random
from sfumato.audit.worlds import margin, repetitions
from sfumato.data.arrays import FloatArray, IntArray
from sfumato.data.classes import Classes, group
from sfumato.data.linkage import Linkage, Spread
from sfumato.data.table import TextColumn
from sfumato.errors import DataError
from sfumato.forms.replaced import MadePart, Replaced
from sfumato.policy.claims import Claim
from sfumato.policy.keep import integrity_rules, replacements_of
from sfumato.policy.rules import columns_of
from sfumato.release.certificate import Finding
from sfumato.release.exhibit import Exhibit
from sfumato.release.form import Form

ALPHA = 0.05
DEVIATION = 0.05
_WORK = 4e8
_WIDEST = 0.3
_CONTEXTS = 2_000


@dataclass(frozen=True)
class Belief:
    """People by kind, and the probability of every value for each."""

    people: IntArray
    spread: Spread
    grade: str
    how: str


class ReplacedReading(Reading):
    """Belief about original values, by possible worlds."""

    name: ClassVar[str] = "replaced table"
    steady: ClassVar[bool] = False
    form: ClassVar[type[Form]] = Replaced

    def read(self, exhibit: Exhibit, claim: Claim) -> Linkage:
        return self._beliefs(exhibit, claim)[0]

    def judge(self, exhibit: Exhibit, claim: Claim) -> Finding:
        return judged(claim, *self._beliefs(exhibit, claim))

    def _beliefs(self, exhibit: Exhibit, claim: Claim) -> tuple[Linkage, str, str]:
        rows = exhibit.data.rows
        kept = [name for name in claim.given if exhibit.policy.columns[name].role != "replaced"]
        classes = group([exhibit.data.text(name).codes for name in kept], rows=rows)
        found = [believed(exhibit, claim, name) for name in claim.hide]
        if not found:
            return Linkage(classes.counts, classes.counts), "exact", "rows with the same kept values"
        people = found[0].people
        candidates = classes.counts if len(classes) == len(people) else np.full(len(people), classes.counts.min())
        spread = {name: belief.spread for name, belief in zip(claim.hide, found, strict=True)}
        if any(len(belief.people) != len(people) for belief in found):
            raise DataError("hidden columns of different parts need one claim each")
        estimated = [belief.grade for belief in found if belief.grade != "exact"]
        how = "; ".join(dict.fromkeys(belief.how for belief in found))
        return Linkage(people, candidates, spread), (estimated or ["exact"])[0], how


def believed(exhibit: Exhibit, claim: Claim, name: str) -> Belief:
    """What an outsider with the claim's given columns believes about one hidden column."""
    if exhibit.policy.columns[name].role != "replaced":
        kept = [g for g in claim.given if exhibit.policy.columns[g].role != "replaced"]
        return _counted(exhibit, name, kept, "exact", "the column is published as it is")
    part = part_of(name, _replaced(exhibit), integrity_rules(exhibit.policy))
    made = _entry(exhibit, name)
    known = [g for g in claim.given if g in part.columns and g != name]
    if made.engine == "shuffle":
        return _counted(exhibit, name, [], "exact", "the published values are the original ones in another order")
    if any(column.original for condition in part.conditions for column in columns_of(condition)):
        raise DataError("rules bind new values to the original ones of the same record", hint="no claim can hide such a column")
    if made.learned:
        return _estimated(exhibit, part, name, known, "frequencies were learned; belief estimated from the published rows")
    if made.heuristic in ("LM", "LM*"):
        return _reversed(exhibit, part, name, made)
    return _blind(exhibit, part, name, known)


def _replaced(exhibit: Exhibit) -> tuple[str, ...]:
    return tuple(name for name, column in exhibit.policy.columns.items() if column.role == "replaced" and column.publish)


def _entry(exhibit: Exhibit, name: str) -> MadePart:
    for entry in exhibit.of(Replaced).parts:
        if name in entry.columns:
            return entry
    raise DataError(f"the manifest does not say how column '{name}' was made")


def _counted(exhibit: Exhibit, name: str, by: list[str], grade: str, how: str) -> Belief:
    """Frequencies in the published rows, per combination of the columns `by`."""
    text = exhibit.data.text(name)
    classes = group([exhibit.data.text(column).codes for column in by], rows=exhibit.data.rows)
    return Belief(classes.counts, Spread.count(classes.of, text.codes, len(classes), text.labels), grade, how)


def _blind(exhibit: Exhibit, part: Joined, name: str, known: list[str]) -> Belief:
    exact = _enumerated(exhibit, part, name, known)
    if exact is not None:
        return exact
    if part.looks_back:
        raise DataError("totals of the original leave a belief that cannot be computed here", hint="use smaller domains")
    how = "blind to the original (zero knowledge); the belief is estimated from the published rows"
    return _estimated(exhibit, part, name, known, how)


def _estimated(exhibit: Exhibit, part: Joined, name: str, known: list[str], how: str) -> Belief:
    """Published rows are draws from the belief, so their frequencies estimate it."""
    by = [column for column in (*part.mentioned, *known) if column in exhibit.data.names]
    estimate = _counted(exhibit, name, by, "", "")
    rows = int(estimate.people.min())
    d = margin(rows, ALPHA)
    if d > _WIDEST:
        raise DataError(f"{rows} published rows are too few to estimate a belief", hint="publish more rows or use smaller domains")
    return replace(estimate, grade=f"estimate ± {d:.3f} at {1 - ALPHA}", how=how)


def _enumerated(exhibit: Exhibit, part: Joined, name: str, known: list[str]) -> Belief | None:
    """The exact belief by listing legal records in every context."""
    split = (*part.mentioned, *part.groups)
    if any(column not in exhibit.data.names for column in split):
        return None
    contexts = group([exhibit.data.text(column).codes for column in split], rows=exhibit.data.rows)
    if len(contexts) > _CONTEXTS:
        return None
    domains = replacements_of(exhibit.policy)
    tables: list[dict[str, TextColumn]] = []
    seen: dict[tuple[str, ...], dict[str, TextColumn] | None] = {}
    for first in _firsts(contexts.of, len(contexts)):
        context = {c: exhibit.data.text(c).labels[exhibit.data.text(c).codes[first]] for c in part.mentioned}
        key = tuple(context.values())
        if key not in seen:
            seen[key] = legal_records(part, domains, context)
        listed = seen[key]
        if listed is None or not len(listed[name].codes):
            return None
        tables.append(listed)
    chances = _chances(exhibit, part, tables, contexts, known)
    return None if chances is None else _belief(name, known, tables, chances, contexts.counts)


def _firsts(labels: IntArray, count: int) -> list[int]:
    first = np.zeros(count, dtype=np.int64)
    first[labels[::-1]] = np.arange(len(labels))[::-1]
    return first.tolist()


def _chances(
    exhibit: Exhibit, part: Joined, tables: list[dict[str, TextColumn]], contexts: Classes, known: list[str]
) -> list[Any] | None:
    """Per context the probability of every listed record; with a total, given that everybody's add up to it."""
    if not part.whole:
        return [np.full(len(next(iter(table.values())).codes), 1.0) for table in tables]
    if len(part.whole) != 1 or known:
        return None
    published = {column: exhibit.data.text(column) for column in exhibit.data.names}
    reached = contributions(part.whole, published)
    own = [contributions(part.whole, table) for table in tables]
    if reached is None or any(values is None for values in own):
        return None
    listed = [values[0] for values in own if values]
    if not part.groups:
        return shares(listed, contexts.counts.tolist(), int(reached[0].sum()))
    totals = np.bincount(contexts.of, weights=reached[0]).astype(np.int64)
    each = [shares([v], [n], int(s)) for v, n, s in zip(listed, contexts.counts.tolist(), totals, strict=True)]
    return None if any(one is None for one in each) else [one[0] for one in each if one]


def _belief(name: str, known: list[str], tables: list[dict[str, TextColumn]], chances: list[Any], counts: IntArray) -> Belief:
    """One kind of person per context and per value of the given columns inside the part."""
    start, values, weights, people = [0], [], [], []
    labels = tables[0][name].labels
    for table, chance, count in zip(tables, chances, counts, strict=True):
        cells = group([table[column].codes for column in known], rows=len(chance))
        for cell in range(len(cells)):
            inside = cells.of == cell
            weight = np.bincount(table[name].codes[inside], weights=chance[inside], minlength=len(labels))
            used = np.flatnonzero(weight > 0)
            values.append(used)
            weights.append(weight[used])
            start.append(start[-1] + len(used))
            people.append(int(count))
    spread = Spread(np.array(start, dtype=np.int64), np.concatenate(values), np.concatenate(weights), labels)
    how = "zero knowledge beyond the rules: all tables that obey them are equally likely"
    return Belief(np.array(people, dtype=np.int64), spread, "exact", how)


def _reversed(exhibit: Exhibit, part: Joined, name: str, made: MadePart) -> Belief:
    """LM and LM*: worlds drawn backwards from the published table."""
    heuristic, size = made.heuristic, made.block
    listed = None if part.mentioned else legal_records(part, replacements_of(exhibit.policy), {})
    published = {column: exhibit.data.text(column) for column in part.columns}
    own = None if listed is None else contributions(part.whole, listed)
    reached = contributions(part.whole, published)
    if heuristic not in ("LM", "LM*") or listed is None or own is None or reached is None or len(own) != 1:
        raise DataError(
            "what the original left in this part cannot be estimated: the audit draws worlds for per-record rules and one total",
            hint="drop the claim, change its rules, or use IG, which does not read the original",
        )
    pairs = np.stack([own[0], listed[name].codes.astype(np.int64)], axis=1)
    values, weights = np.unique(pairs, axis=0, return_counts=True)
    totals, place = np.unique(values[:, 0], return_inverse=True)
    mass = np.bincount(place, weights=weights).astype(float)
    start = np.searchsorted(totals, reached[0])
    t = repetitions(DEVIATION, ALPHA)
    if t * len(start) * len(totals) > _WORK:
        raise DataError("the table is too large for reverse engineering", hint="use a direct engine or publish fewer records")
    random = _repeatable(start, totals, mass, heuristic, size)
    if heuristic == "LM":
        rows = exhibit.behind["data"] if exhibit.behind is not None else np.arange(len(start))
        order = np.argsort(rows, kind="stable")
        blocks = np.array_split(order, max(1, len(order) // size))
        often = linked(start, totals, mass, blocks, t, random)
    else:
        often = linked_at_random(start, totals, mass, size, t, random)
    share = np.zeros((len(totals), len(listed[name].labels)))
    np.add.at(share, (place, values[:, 1]), weights)
    chance = often @ (share / share.sum(axis=1, keepdims=True)) / t
    used = chance > 0
    starts = np.concatenate([[0], np.cumsum(used.sum(axis=1))]).astype(np.int64)
    spread = Spread(starts, np.nonzero(used)[1].astype(np.int64), chance[used], listed[name].labels)
    how = f"reverse engineering of {heuristic} with blocks of {size}, {t} worlds drawn{_bias(made)}"
    return Belief(np.ones(len(start), dtype=np.int64), spread, f"estimate ± {DEVIATION} at {1 - ALPHA}", how)


def _repeatable(start: IntArray, totals: IntArray, mass: FloatArray, heuristic: str, size: int) -> np.random.Generator:
    """Draws that depend on what is judged and on nothing else: whoever judges the same release again finds the same."""
    seen = hashlib.sha256(f"{heuristic} {size} ".encode())
    for array in (np.sort(start), totals, mass):
        seen.update(np.ascontiguousarray(array).tobytes())
    return np.random.default_rng(int.from_bytes(seen.digest()))


def _bias(made: MadePart) -> str:
    """What the estimate leaves out: worlds are drawn uniformly, the solver's blocks were not unless they came from hash cells."""
    if set(made.variety) == {"cells"}:
        return ""
    return "; it takes the solver's solutions for equally likely, which they are not"
