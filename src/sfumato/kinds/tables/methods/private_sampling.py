"""`sampled`: (ε, δ)-differential privacy by random sampling and k look-alikes, after Li, Qardaji and Su, and SafePub.

Every record is drawn with the same probability, generalized by one level per column, and published when at least k
drawn records look alike in every published column, hidden ones included. The levels are given in the policy, or chosen
by the exponential mechanism with a part of ε. `models.differential_privacy` explains why that is differentially
private, and how k follows from (ε, δ).

Paper: Li, Qardaji, Su (2012); Bild, Kuhn, Prasser (2018).

Invariants
    I1  Every draw comes from the cryptographic source, one for every record, with chances that are compared as whole
        numbers.
    I2  Nothing but the drawn records, and the search, looks at the data: hierarchies stand by themselves, and no number
        of the original is published.
    I3  A search for levels is the exponential mechanism (`drawn_levels`), over choices that do not depend on the data.


Drawn levels
------------
Levels by the exponential mechanism: the levels of `sampled`, drawn exactly with a part of ε.

Notation
    β, k      each record is drawn with β, and cells with fewer than k drawn records are not published
    φ(n)      what is published on average of a cell of n records, as a whole number: the sum of its steps d(0), …, d(n
              − 1)
    d(n)      the step from n to n + 1 records, in units of 1/`STEP`: β (P(J ≥ k) + k P(J = k − 1)), J the drawn ones of
              n, over the largest value that this can have, rounded down
    w(g)      the detail that levels g keep, as a whole number from 0 to W: the mean over columns of one minus level
              over height
    s(g)      the score of g: w(g) times the sum of φ over the cells that records fall into at these levels

Guarantee
    One record more adds a step to one cell: every score grows by at least 0 and by at most `STEP` · W. So when g is
    taken with chances proportional to exp(ε₀ s(g) / (`STEP` · W)), one record more multiplies each weight by a number
    between 1 and e^ε₀, and their sum as well: every chance changes by a factor between e^−ε₀ and e^ε₀. That is
    ε₀-differential privacy; since all scores move the same way, half of the exponent need not be given away as for
    scores that may move both ways. The choice looks at the table only; the draw that follows is independent of it, so
    the two compose (`models.differential_privacy`).

Invariants
    I1  Steps and weights of detail depend on β, k and the hierarchies alone, and lie between 0 and their bound whatever
        rounding does.
    I2  Scores are whole numbers and ε₀ is the fraction that its floating-point number is: chances are compared without
        rounding. A choice is drawn uniformly and kept with exp(−x), x = ε₀ (best − s(g)) / (`STEP` · W), else drawn
        again.
    I3  exp(−x) of a fraction x is decided by whole random numbers (`happens`): with x ≤ 1, the number of the first draw
        that fails among chances x, x/2, x/3, … is odd with exp(−x).

Paper: McSherry, Talwar (2007) for the mechanism; Canonne, Kamath, Steinke (2020) for exp(−x); Bild, Kuhn, Prasser
(2018) for choosing levels of a sampled table so. The score is our own: counting records in cells of at least k changes
by k when one record comes, what is published on average by a multiple of the root of k.

>>> steps = PublishedSteps(0.5, 20)
>>> bool((steps.up_to >= 0).all()), int(steps.largest()) <= STEP, steps.worth(np.array([0,
...     40])) > steps.worth(np.array([20, 20]))
(True, True, True)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from math import expm1, prod
from typing import ClassVar

import numpy as np
import pyarrow as pa
from pydantic import Field

from sfumato.core.arrays import FloatArray, IntArray
from sfumato.core.errors import Infeasible
from sfumato.core.randomness import Randomness
from sfumato.data.equivalence_classes import equivalence_classes_of
from sfumato.data.hierarchy import Hierarchy, encode
from sfumato.data.table import Table
from sfumato.io.hierarchy_files import build_generalization, is_standing
from sfumato.kinds.tables.form import DrawnTable, RecodedProvenance
from sfumato.models.differential_privacy import as_sampling_model
from sfumato.policy.policy import Policy
from sfumato.policy.requirements import PrivacyRequirement
from sfumato.release.form import Form
from sfumato.release.method import Method, Task
from sfumato.release.release import Part, Release

_MOST = 3000
"""Choices of levels that a search looks at."""


class SampledRecords(Method):
    """Publish a random sample of the records in k-anonymous classes, with differential privacy."""

    name: ClassVar[str] = "sampled"
    form: ClassVar[type[Form]] = DrawnTable
    paper: ClassVar[str] = "Li, Qardaji, Su 2012; Bild, Kuhn, Prasser 2018"

    levels: dict[str, int] = Field(
        default_factory=dict, description="generalization level of each quasi-identifier; empty: chosen privately"
    )
    search: float = Field(default=0.1, gt=0, lt=1, description="share of epsilon for choosing the levels")
    fraction: float | None = Field(
        default=None, gt=0, lt=1, description="probability of drawing a record; absent: the largest"
    )

    def preference(self, records: int | None) -> tuple[int, str]:
        return 5, "it is the one that is differentially private"

    def refusal(self, policy: Policy) -> str:
        if sum(as_sampling_model(claim.model) is not None for claim in policy.claims) != 1:
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

    def enforces(self, claim: PrivacyRequirement, policy: Policy) -> bool:
        demand = claim.model.demand()
        return as_sampling_model(claim.model) is not None or (demand.sufficient and not demand.of_values)

    def run(self, task: Task) -> Release:
        asked = next(found for claim in task.policy.claims if (found := as_sampling_model(claim.model)) is not None)
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

    def _levels(
        self, task: Task, ladders: dict[str, list[pa.Array]], fraction: float, k: int, search: float
    ) -> dict[str, int]:
        heights = {name: len(steps) - 1 for name, steps in ladders.items()}
        if self.levels:
            return {name: min(self.levels.get(name, 0), height) for name, height in heights.items()}
        choices, steps = _choices(heights), PublishedSteps(fraction, k)
        scores = [_score(task, ladders, dict(zip(heights, one, strict=True)), steps) for one in choices]
        span = STEP * detail([0] * len(heights), list(heights.values()))[1]
        best = draw_by_score(scores, search, max(span, 1), task.randomness.child("levels"))  # I1, I3
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
        steps = [
            [tree.names[path[min(step, len(path) - 1)]] for path in paths] for step in range(tree_height(tree) + 1)
        ]
    return [pa.array(labels, pa.string()) for labels in steps]


def tree_height(tree: Hierarchy) -> int:
    """Return the longest path from a leaf to the root, independent of the data (I2)."""
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
    cells = equivalence_classes_of(_keys(task, ladders, levels), rows=task.data.rows).counts
    return steps.worth(cells) * detail(list(levels.values()), [len(ladders[name]) - 1 for name in levels])[0]


def _drawn(task: Task, form: DrawnTable, ladders: dict[str, list[pa.Array]]) -> Release:
    table: Table = task.data
    inside = draw_records(table.rows, form.fraction, task.randomness.child("draw"))  # I1
    keys = [key[inside] for key in _keys(task, ladders, form.levels)]
    alike = equivalence_classes_of(keys, rows=len(inside))
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
    return Release(form, {"data": Part(pa.table(columns))}, 0, RecodedProvenance({"data": rows}))


# Drawn levels
# ------------


STEP = 1 << 20
"""The largest step, as a whole number."""
_BEYOND = 12.0
"""Standard deviations above which a cell is always published."""
_MOST_STEPS = 1 << 24


class PublishedSteps:
    """φ for one draw."""

    def __init__(self, fraction: float, threshold: int) -> None:
        from scipy.stats import binom

        last = (threshold + _BEYOND * math.sqrt(threshold) + _BEYOND**2) / fraction
        sizes = np.arange(int(min(last, _MOST_STEPS)) + 1)
        alone: FloatArray = binom.pmf(threshold - 1, sizes, fraction)
        rising = binom.sf(threshold - 1, sizes, fraction) + threshold * alone
        bound = 1 + threshold * float(alone.max())
        step = np.clip(np.floor(STEP * rising / bound), 0, STEP).astype(np.int64)  # I1
        self.beyond = int(min(math.floor(STEP / bound), STEP))
        """The step of cells that are larger than all that are listed: one more record is one more drawn with β."""
        self.up_to: IntArray = np.concatenate([[0], np.cumsum(step)])

    def largest(self) -> int:
        """The largest step that there is."""
        return max(int(np.diff(self.up_to).max(initial=0)), self.beyond)

    def worth(self, cells: IntArray) -> int:
        """The sum of φ over cells of these sizes."""
        known = len(self.up_to) - 1
        more = np.maximum(cells - known, 0)
        return int(self.up_to[np.minimum(cells, known)].sum()) + self.beyond * int(more.sum())


def detail(levels: Sequence[int], heights: Sequence[int]) -> tuple[int, int]:
    """w and W of a choice of levels (I1).

    >>> detail([0, 1], [2, 3]), detail([2, 3], [2, 3])
    ((10, 12), (0, 12))
    """
    whole = math.lcm(*(max(height, 1) for height in heights)) if heights else 1
    kept = sum(
        whole * (max(height, 1) - level) // max(height, 1) for level, height in zip(levels, heights, strict=True)
    )
    return kept, whole * len(heights)


def draw_by_score(scores: Sequence[int], budget: float, span: int, randomness: Randomness) -> int:
    """The place of a score, drawn by the exponential mechanism with ε₀ = `budget`; a record adds at most `span` to a
    score (I2)."""
    best, slope = max(scores), Fraction(budget) / span
    while True:
        place = below(len(scores), randomness)
        if happens(slope * (best - scores[place]), randomness):
            return place


def happens(x: Fraction, randomness: Randomness) -> bool:
    """True with probability exp(−x), exactly (I3)."""
    while x > 1:
        if not happens(Fraction(1), randomness):
            return False
        x -= 1
    turn = 1
    while below(x.denominator * turn, randomness) < x.numerator:
        turn += 1
    return turn % 2 == 1


def below(bound: int, randomness: Randomness) -> int:
    """A whole number below a bound of any size, each as likely as the others."""
    size = (bound.bit_length() + 7) // 8
    most = (1 << 8 * size) // bound * bound
    while True:
        drawn = int.from_bytes(randomness.bytes(size), "little")
        if drawn < most:
            return drawn % bound


def draw_records(count: int, fraction: float, randomness: Randomness) -> IntArray:
    """Which of so many records are drawn, each with `fraction`, rounded down to a whole number of 2⁻⁶⁴."""
    limit = np.uint64(min(math.floor(Fraction(fraction) * (1 << 64)), (1 << 64) - 1))
    return np.flatnonzero(randomness.words(count) < limit)
