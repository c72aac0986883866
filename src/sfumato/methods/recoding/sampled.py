"""`sampled`: (ε, δ)-differential privacy by random sampling and k look-alikes, after Li, Qardaji and Su, and SafePub.

Every record is drawn with the same probability, generalized by one level per column, and published when at least k drawn records
look alike in every published column, hidden ones included. The levels are given in the policy, or chosen by the exponential
mechanism with a part of ε. Why that is differentially private, and how k follows from (ε, δ), stands in
`models.differential_privacy`.

Paper: Li, Qardaji, Su (2012); Bild, Kuhn, Prasser (2018).

Invariants
    I1  Every draw comes from the cryptographic source, one for every record, with chances that are compared as whole numbers.
    I2  Nothing but the drawn records, and the search, looks at the data: hierarchies stand by themselves, and no number of the
        original is published.
    I3  A search for levels is the exponential mechanism (`drawn_levels`), over choices that do not depend on the data.
"""

from __future__ import annotations

from itertools import product
from math import expm1, prod
from typing import ClassVar

import numpy as np
import pyarrow as pa
from pydantic import Field

from sfumato.data.arrays import IntArray
from sfumato.data.classes import group
from sfumato.data.hierarchy import Hierarchy, encode
from sfumato.data.table import Table
from sfumato.errors import Infeasible
from sfumato.forms.recoded import RecodedTrace
from sfumato.forms.sampled import DrawnTable
from sfumato.io.hierarchies import build_generalization, is_standing
from sfumato.methods.base import Method, Task
from sfumato.methods.recoding.drawn_levels import STEP, PublishedSteps, detail, kept_of, taken
from sfumato.models.differential_privacy import drawing
from sfumato.policy.claims import Claim
from sfumato.policy.policy import Policy
from sfumato.release.form import Form
from sfumato.release.release import Part, Release

_MOST = 3000
"""Choices of levels that a search looks at."""


class SampledRecords(Method):
    """Differential privacy by drawing records and publishing those with k look-alikes in every column."""

    name: ClassVar[str] = "sampled"
    form: ClassVar[type[Form]] = DrawnTable
    paper: ClassVar[str] = "Li, Qardaji, Su 2012; Bild, Kuhn, Prasser 2018"

    levels: dict[str, int] = Field(default_factory=dict, description="steps for each quasi-identifier; empty: chosen")
    search: float = Field(default=0.1, gt=0, lt=1, description="the part of epsilon that choosing the levels may take")
    fraction: float | None = Field(default=None, gt=0, lt=1, description="probability of drawing a record; absent: the largest")

    def preference(self, records: int | None) -> tuple[int, str]:
        return 5, "it is the one that is differentially private"

    def refusal(self, policy: Policy) -> str:
        if sum(drawing(claim.model) is not None for claim in policy.claims) != 1:
            return "it keeps one claim of differential privacy"
        for claim in policy.claims:
            if not self.enforces(claim, policy):
                return f"it cannot keep {claim} beside differential privacy"
        for name in policy.quasi_identifiers:
            spec = policy.columns[name].hierarchy
            if policy.columns[name].boundary is not None or not (spec is None or spec == "flat" or is_standing(spec)):
                hint = "give it a hierarchy that stands by itself, and no boundary"
                return f"how '{name}' is generalized would depend on the data: {hint}"
        strange = [name for name in self.levels if name not in policy.quasi_identifiers]
        return f"'{strange[0]}' has a level and is no quasi-identifier" if strange else ""

    def enforces(self, claim: Claim, policy: Policy) -> bool:
        demand = claim.model.demand()
        return drawing(claim.model) is not None or (demand.sufficient and not demand.of_values)

    def run(self, task: Task) -> Release:
        asked = next(found for claim in task.policy.claims if (found := drawing(claim.model)) is not None)
        search = 0.0 if self.levels else self.search * asked.epsilon
        fraction = self.fraction or -expm1(-(asked.epsilon - search)) * (1 - 1e-9)
        threshold = asked.threshold(fraction, search)
        if not threshold:
            hint = "a smaller fraction, a larger epsilon or a larger delta"
            raise Infeasible(f"no threshold gives {asked} when each record is drawn with {fraction:.3g}", hint=hint)
        threshold = max(threshold, *(claim.model.demand().candidates for claim in task.policy.claims))
        ladders = {name: ladder(task.policy, task.data, name) for name in task.policy.quasi_identifiers}
        chosen = self._levels(task, ladders, fraction, threshold, search)
        form = DrawnTable(fraction=fraction, threshold=threshold, search=search, levels=chosen)
        return _drawn(task, form, ladders)

    def _levels(self, task: Task, ladders: dict[str, list[pa.Array]], fraction: float, k: int, search: float) -> dict[str, int]:
        heights = {name: len(steps) - 1 for name, steps in ladders.items()}
        if self.levels:
            return {name: min(self.levels.get(name, 0), height) for name, height in heights.items()}
        choices, steps = _choices(heights), PublishedSteps(fraction, k)
        scores = [_score(task, ladders, dict(zip(heights, one, strict=True)), steps) for one in choices]
        span = STEP * detail([0] * len(heights), list(heights.values()))[1]
        best = taken(scores, search, max(span, 1), task.randomness.child("levels"))  # I1, I3
        return dict(zip(heights, map(int, choices[best]), strict=True))


def ladder(policy: Policy, table: Table, name: str) -> list[pa.Array]:
    """What every record is published as, step by step from its own value to the top (I2)."""
    text, spec = table.text(name), policy.columns[name].hierarchy
    if not is_standing(spec):
        steps = [list(text.labels), ["*"] * len(text.labels)]
    else:
        tree = build_generalization(spec, [], column=name, base=policy.base)
        assert isinstance(tree, Hierarchy)
        leaves = encode(tree, text.labels, column=name)
        paths = [tree.path(int(leaf)) for leaf in leaves]
        steps = [[tree.names[path[min(step, len(path) - 1)]] for path in paths] for step in range(tree_height(tree) + 1)]
    return [pa.array(labels, pa.string()) for labels in steps]


def tree_height(tree: Hierarchy) -> int:
    """The longest way from a leaf to the root, whoever has the leaf (I2)."""
    return max(len(tree.path(leaf)) for leaf in range(tree.size)) - 1


def _choices(heights: dict[str, int]) -> list[tuple[int, ...]]:
    """Combinations of levels; every second level is left out, of the highest first, until they are few enough."""
    kept = [list(range(height + 1)) for height in heights.values()]
    while prod(map(len, kept)) > _MOST and max(map(len, kept)) > 2:
        longest = max(range(len(kept)), key=lambda place: len(kept[place]))
        kept[longest] = sorted({*kept[longest][::2], kept[longest][-1]})
    return list(product(*kept))[:_MOST]


def _keys(task: Task, ladders: dict[str, list[pa.Array]], levels: dict[str, int]) -> list[IntArray]:
    """Every published column as codes."""
    table: Table = task.data
    keys = []
    for name in task.policy.published:
        text = table.text(name)
        if name in ladders:
            coded = ladders[name][levels[name]].dictionary_encode()
            keys.append(coded.indices.to_numpy(zero_copy_only=False).astype(np.int64)[text.codes])
        else:
            keys.append(text.codes.astype(np.int64))
    return keys


def _score(task: Task, ladders: dict[str, list[pa.Array]], levels: dict[str, int], steps: PublishedSteps) -> int:
    """What is published on average at these levels, times the detail that they keep (I3)."""
    cells = group(_keys(task, ladders, levels), rows=task.data.rows).counts
    return steps.worth(cells) * detail(list(levels.values()), [len(ladders[name]) - 1 for name in levels])[0]


def _drawn(task: Task, form: DrawnTable, ladders: dict[str, list[pa.Array]]) -> Release:
    table: Table = task.data
    inside = kept_of(table.rows, form.fraction, task.randomness.child("draw"))  # I1
    keys = [key[inside] for key in _keys(task, ladders, form.levels)]
    alike = group(keys, rows=len(inside))
    kept = inside[alike.counts[alike.of] >= form.threshold]
    if not len(kept):
        hint = "more records, coarser levels, fewer columns, or a larger epsilon or delta"
        raise Infeasible(f"no {form.threshold} drawn records look alike: nothing would be published", hint=hint)
    rows = kept[task.randomness.child("row order").permutation(len(kept))]
    columns = {}
    for name in task.policy.published:
        if name in ladders:
            columns[name] = ladders[name][form.levels[name]].take(pa.array(table.text(name).codes[rows]))
        else:
            columns[name] = table.column(name).combine_chunks().take(pa.array(rows))
    return Release(form, {"data": Part(pa.table(columns))}, 0, RecodedTrace({"data": rows}))
