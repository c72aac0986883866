"""Averages: what a microaggregated table shows are the averages of the records behind its groups, and everything else
is theirs.

With the private provenance every group is averaged again. Without it, totals of averaged columns and the other columns
as a whole are compared with the original's.


Pseudonyms
----------
Pseudonyms: in a linked table a pseudonym is one person, a person is one pseudonym, and dates move by one number per
person.

Needs the original and the private provenance; without the provenance nothing says who stands behind a row, and nothing
is said.


Unchanged
---------
Unchanged: what a perturbed table does not say it changed is as it was, and columns that only changed places kept their
values.

With the private provenance row by row; without it the columns are compared as a whole.


Weights
-------
Calibrated weights: equal for rows that look alike, up to one step of rounding, and with the totals of the original.

From the published files: every weight is a positive multiple of the step, and rows that look alike in all
quasi-identifiers and calibrated columns have weights at most one step apart, so that a weight tells nobody apart. With
the original: the weighted totals of every calibrated column are the original's, by bins of labels that do not overlap.


Optimality
----------
Optimality: what was published does not lose less than its method says is possible.

The bound is about utility, not about privacy. It cannot be proven again from the published files, but it can be
refuted: by a loss below the bound, or by a release that claims a proven optimum and loses more than the bound.


Other columns
-------------
Other columns: how many rows look alike for an adversary who knows the columns that are published as they are, too.

The claims speak of adversaries who know the quasi-identifiers. A column with the role `other` is said to be known to
nobody; what would be left if it were known is measured here on the published rows and promised by nobody.


Covering rows
-----
Covering rows: people whose own class violates the requirement, and who are protected only by rows that cover all
people.

A fully suppressed row covers everybody, so k of them with k values make any release k-linkable [sequential Def. 4.2],
whatever the other rows show. Claims that hold in every class of equal cells have no such people; the paper's measure
may have many.


Counterfeits
------------
Counterfeits: no more counterfeit records than the policy allows, compared with the records of the source.


Checks
------
What else must be true of a release.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import date
from fractions import Fraction
from typing import ClassVar

import numpy as np

from sfumato.core.arrays import FloatArray, IntArray
from sfumato.core.wording import Wording, join_names
from sfumato.data.equivalence_classes import equivalence_classes_of
from sfumato.data.generalization import MISSING
from sfumato.data.linkage import Linkage
from sfumato.data.persons import persons_of_rows
from sfumato.data.table import TextColumn
from sfumato.data.text_values import parse_number
from sfumato.history.judge.series import is_membership_known_for_view, is_series, judge_by_classes, published_cells_of
from sfumato.history.standing_requirements import widen_requirement
from sfumato.kinds.person_evidence import person_of
from sfumato.kinds.tables.form import LinkedTable, Microaggregated, PerturbedTable, Recoded
from sfumato.kinds.tables.information_loss import measured_objective, optimality_statement, statement
from sfumato.kinds.tables.sample_weights import read_weights
from sfumato.kinds.tables.truthfulness import count_changed_rows
from sfumato.models.base import round_significant
from sfumato.policy.requirements import PrivacyRequirement
from sfumato.policy.sections import PSEUDONYM, TOLERANCE, SampledPopulation
from sfumato.release.certificate import MEASURED, NOT_JUDGED, Finding
from sfumato.release.evidence import Check
from sfumato.release.form import Form
from sfumato.release.view import ReleaseView


class Averages(Check):
    """Groups show the averages of their own records."""

    name: ClassVar[str] = "averages"
    words: ClassVar[Wording] = Wording(
        title="Group averages",
        code="group-averages",
        holds="Every group shows the average of its own records.",
    )
    steady: ClassVar[bool] = False
    forms: ClassVar[tuple[type[Form], ...]] = (Microaggregated,)

    def ready(self, exhibit: ReleaseView) -> bool:
        return exhibit.private

    def examine(self, exhibit: ReleaseView) -> Finding:
        wrong = [*_other_columns(exhibit)]
        wrong += _by_group(exhibit) if exhibit.behind is not None else _totals(exhibit)
        if exhibit.behind is None and not wrong:
            reason = (
                "only the private provenance reveals the records of a group; totals of means "
                "equal those of the original"
            )
            return Finding(self.name, True, {"wrong": 0}, {}, grade=NOT_JUDGED, reason=reason)
        return Finding(self.name, not wrong, {"wrong": 0}, {"wrong": len(wrong)}, reason="; ".join(wrong))


def _other_columns(exhibit: ReleaseView) -> Iterator[str]:
    """Whatever is no quasi-identifier is published as it is, in rows as the original has them."""
    names = [name for name in exhibit.policy.published if name not in exhibit.policy.quasi_identifiers]
    if exhibit.data.rows != exhibit.original.rows:
        yield "there are not as many rows as records"
    elif names and count_changed_rows(exhibit, exhibit.data, names):
        yield "columns that are published as they are differ from the original"


def _by_group(exhibit: ReleaseView) -> Iterator[str]:
    assert exhibit.behind is not None
    form, table, behind = exhibit.of(Microaggregated), exhibit.data, exhibit.behind["data"]
    alike = equivalence_classes_of(
        [table.text(name).codes for name in exhibit.policy.quasi_identifiers], rows=table.rows
    )
    for name in exhibit.policy.quasi_identifiers:
        shown, own = table.text(name), exhibit.original.text(name)
        codes = own.codes[behind].astype(np.int64)
        if name in form.numbers and form.centre == "mean":
            off = _means_off(shown, own, codes, alike.of, alike.first)
        else:
            middle = form.centre if name in form.numbers else "mode"
            off = _values_off(shown, own, codes, alike.of, alike.first, middle)
        if off:
            yield f"{off} group(s) do not show the average of '{name}'"


def _means_off(shown: TextColumn, own: TextColumn, codes: IntArray, of: IntArray, first: IntArray) -> int:
    values = _numbers(own.labels)[codes]
    known = np.flatnonzero(~np.isnan(values))
    many = np.bincount(of[known], minlength=len(first))
    mean = np.bincount(of[known], weights=values[known], minlength=len(first)) / np.maximum(many, 1)
    written = _numbers(shown.labels)[shown.codes[first]]
    unit = (
        10.0 ** -min(len(label.partition(".")[2]) for label in shown.labels if label != MISSING)
        if (many > 0).any()
        else 1.0
    )
    near = np.abs(written - mean) <= unit / 2 + 1e-9 * np.maximum(np.abs(mean), 1.0)
    return int((np.where(many > 0, ~near, ~np.isnan(written))).sum())


def _values_off(shown: TextColumn, own: TextColumn, codes: IntArray, of: IntArray, first: IntArray, middle: str) -> int:
    """Groups whose written value is no median, or not the most frequent one, of their records."""
    off = 0
    order = np.argsort(of, kind="stable")
    ends = np.cumsum(np.bincount(of, minlength=len(first)))
    values = _numbers(own.labels) if middle == "median" else None
    for place, (begin, end) in enumerate(zip(np.concatenate([[0], ends[:-1]]).tolist(), ends.tolist(), strict=True)):
        mine = codes[order[begin:end]]
        written = shown.labels[shown.codes[first[place]]]
        off += not (_is_median(values, mine, written) if values is not None else _is_mode(own, mine, written))
    return off


def _is_mode(own: TextColumn, mine: IntArray, written: str) -> bool:
    found, counts = np.unique(mine, return_counts=True)
    return written in {own.labels[code] for code in found[counts == counts.max()]}


def _is_median(values: FloatArray, mine: IntArray, written: str) -> bool:
    known = np.sort(values[mine][~np.isnan(values[mine])])
    if not len(known):
        return written == MISSING
    value = parse_number(written)
    return value is not None and float(value) == float(known[(len(known) - 1) // 2])


def _totals(exhibit: ReleaseView) -> Iterator[str]:
    form = exhibit.of(Microaggregated)
    for name in form.numbers if form.centre == "mean" and exhibit.data.rows == exhibit.original.rows else ():
        shown, own = exhibit.data.text(name), exhibit.original.text(name)
        if MISSING in own.labels:
            continue
        unit = 10.0 ** -min(len(label.partition(".")[2]) for label in shown.labels)
        total, stated = _numbers(own.labels) @ own.counts(), _numbers(shown.labels) @ shown.counts()
        if not abs(total - stated) <= exhibit.data.rows * unit / 2 + 1e-9 * max(abs(total), 1.0):
            yield f"the total of '{name}' is not the original's"


def _numbers(labels: tuple[str, ...]) -> FloatArray:
    read = [parse_number(label) for label in labels]
    return np.array([np.nan if value is None else float(value) for value in read], dtype=np.float64)


# Pseudonyms
# ----------


_DAY = len("2024-12-31")


class OnePseudonymEach(Check):
    """Pseudonyms and people belong to each other, one to one."""

    name: ClassVar[str] = "pseudonyms"
    words: ClassVar[Wording] = Wording(
        title="Pseudonyms",
        code="pseudonyms",
        group="privacy",
        holds="Every person has exactly one pseudonym, and dates are shifted by one constant per person.",
    )
    forms: ClassVar[tuple[type[Form], ...]] = (LinkedTable,)

    def ready(self, exhibit: ReleaseView) -> bool:
        return exhibit.private and exhibit.behind is not None

    def examine(self, exhibit: ReleaseView) -> Finding:
        behind = (exhibit.behind or {})["data"]
        person = persons_of_rows(exhibit.original, person_of(exhibit).unit)[behind]
        called = exhibit.data.text(PSEUDONYM).codes.astype(np.int64)
        pairs = equivalence_classes_of([person, called], rows=len(person)).first
        mixed = sum(int((np.unique(side[pairs], return_counts=True)[1] > 1).sum()) for side in (person, called))
        moved = sum(
            _unsteady(exhibit, name, behind) for name in exhibit.policy.published if exhibit.policy.columns[name].dates
        )
        wrong = [f"{mixed} pseudonym(s) or people are mixed up"] if mixed else []
        wrong += [f"{moved} date(s) are not moved as the policy says"] if moved else []
        achieved = {"mixed": mixed, "moved": moved}
        return Finding(self.name, not wrong, {"mixed": 0, "moved": 0}, achieved, reason="; ".join(wrong))


def _unsteady(exhibit: ReleaseView, name: str, behind: IntArray) -> int:
    """Dates that move further than they may, or otherwise than the first one of the person."""
    declared = exhibit.policy.columns[name].dates
    assert declared is not None
    now, before = exhibit.data.text(name), exhibit.original.text(name)
    person = persons_of_rows(exhibit.original, person_of(exhibit).columns)[behind]
    wrong, steps = 0, dict[int, int]()
    for mine, theirs, whose in zip(now.codes.tolist(), before.codes[behind].tolist(), person.tolist(), strict=True):
        shown, own = now.labels[mine], before.labels[theirs]
        if not own or not shown:
            wrong += shown != own
            continue
        step = (date.fromisoformat(shown[:_DAY]) - date.fromisoformat(own[:_DAY])).days
        wrong += abs(step) > declared.shift or steps.setdefault(whose, step) != step or shown[_DAY:] != own[_DAY:]
    return wrong


# Unchanged
# ---------


_WRITTEN = 1e-6


class UnchangedColumns(Check):
    """Columns that are not said to have changed have not."""

    name: ClassVar[str] = "unchanged"
    words: ClassVar[Wording] = Wording(
        title="Unperturbed columns",
        code="unperturbed-columns",
        holds="All columns not listed as perturbed equal the original.",
    )
    steady: ClassVar[bool] = False
    forms: ClassVar[tuple[type[Form], ...]] = (PerturbedTable,)

    def ready(self, exhibit: ReleaseView) -> bool:
        return exhibit.private

    def examine(self, exhibit: ReleaseView) -> Finding:
        form, table, original = exhibit.of(PerturbedTable), exhibit.data, exhibit.original
        wrong = []
        if table.rows != original.rows:
            wrong.append("there are not as many rows as records")
        else:
            same = [name for name in exhibit.policy.published if name not in form.columns]
            if same and count_changed_rows(exhibit, table, same):
                wrong.append("columns that are said to be as they were differ from the original")
            moved = form.columns if form.keeps_values else ()
            lost = [name for name in moved if _tally(table.text(name)) != _tally(original.text(name))]
            wrong += [f"{len(lost)} column(s) do not have the values of the original"] if lost else []
            odd = [name for name, shares in form.shares.items() if not _are_shares(shares, original.text(name))]
            wrong += [f"the shares of {len(odd)} column(s) are not those of the original"] if odd else []
        return Finding(self.name, not wrong, {"wrong": 0}, {"wrong": len(wrong)}, reason="; ".join(wrong))


def _are_shares(shares: Mapping[str, float], text: TextColumn) -> bool:
    """Whether these are the shares of a column's values, up to how they are written."""
    known = dict(zip(text.labels, text.counts().tolist(), strict=True))
    rows = sum(known.values())
    return set(shares) == set(known) and all(
        abs(shares[label] * rows - count) < _WRITTEN * rows for label, count in known.items()
    )


def _tally(text: TextColumn) -> Counter[str]:
    return Counter(dict(zip(text.labels, text.counts().tolist(), strict=True)))


# Weights
# -------


_SLACK = 1e-6


class CalibratedWeights(Check):
    """Calibrated survey weights tell nobody apart and keep the totals that they were calibrated to."""

    name: ClassVar[str] = "calibrated weights"
    words: ClassVar[Wording] = Wording(
        title="Survey weights",
        code="weights",
        group="privacy",
        holds="Records with the same quasi-identifiers have the same weight, up to one rounding step.",
    )
    forms: ClassVar[tuple[type[Form], ...]] = (Recoded,)

    def ready(self, exhibit: ReleaseView) -> bool:
        return exhibit.policy.calibrated is not None

    def examine(self, exhibit: ReleaseView) -> Finding:
        said = exhibit.policy.population
        assert said is not None
        weights = read_weights(exhibit.data, str(said.weight))
        wrong = [*_telling(exhibit, said, weights)]
        if not wrong and not exhibit.private:
            reason = "the totals that weights were calibrated to are the original's: give the original to judge them"
            return Finding(self.name, True, {"wrong": 0}, {}, grade=NOT_JUDGED, reason=reason)
        off = (
            max((_off(exhibit, said, name, weights) for name in said.calibrate), default=0.0)
            if exhibit.private
            else 0.0
        )
        wrong += [f"a total differs by {off:.3g} times what is allowed"] if off > 1 + _SLACK else []
        return Finding(self.name, not wrong, {"wrong": 0}, {"wrong": len(wrong)}, reason="; ".join(wrong))


def _telling(exhibit: ReleaseView, said: SampledPopulation, weights: FloatArray) -> Iterator[str]:
    """What the published weights by themselves do wrong."""
    step = float(said.round)
    if (np.abs(weights / step - np.rint(weights / step)) > _SLACK).any():
        yield "weights are not rounded as the policy says"
    names = dict.fromkeys((*exhibit.policy.quasi_identifiers, *said.calibrate))
    alike = equivalence_classes_of([exhibit.data.text(name).codes for name in names], rows=exhibit.data.rows)
    order = np.lexsort((weights, alike.of))
    ends = np.cumsum(alike.counts)
    apart = weights[order[ends - 1]] - weights[order[ends - alike.counts]]
    if (apart > step * (1 + _SLACK)).any():
        yield (
            f"{int((apart > step * (1 + _SLACK)).sum())} group(s) of rows that look alike have weights more than one"
            " step apart"
        )


def _off(exhibit: ReleaseView, said: SampledPopulation, name: str, weights: FloatArray) -> float:
    """The largest difference of a total of a column, over what is allowed."""
    own = read_weights(exhibit.original, str(said.weight))
    shown, bins = exhibit.data.text(name), _bins(exhibit, name)
    mine = np.array([bins.get(label, -1) for label in shown.labels])[shown.codes]
    values = exhibit.original.text(name)
    theirs = np.array([bins.get(value, -1) for value in _as_labels(exhibit, name, values.labels)])[values.codes]
    found = _weights_totals(mine, weights, theirs, own)
    return max(float(abs(one - other) / max(TOLERANCE * other, said.round)) for one, other in found)


def _weights_totals(
    mine: IntArray, weights: FloatArray, theirs: IntArray, own: FloatArray
) -> Iterator[tuple[Fraction, Fraction]]:
    """Both totals of every bin; those of values that no row stands for are a bin of their own."""
    for place in np.union1d(mine, theirs).tolist():
        yield Fraction(float(weights[mine == place].sum())), Fraction(float(own[theirs == place].sum()))


def _as_labels(exhibit: ReleaseView, name: str, values: tuple[str, ...]) -> list[str]:
    """A label under which each value of the original can be looked up among bins."""
    domain = exhibit.recoded.get(name)
    return list(values) if domain is None else [f"leaf {domain.code_of[value]}" for value in values]


def _bins(exhibit: ReleaseView, name: str) -> dict[str, int]:
    """The number of the bin of every label, and of every leaf that one covers; labels that share a leaf are in one
    bin."""
    labels, domain = exhibit.data.text(name).labels, exhibit.recoded.get(name)
    if domain is None:
        return {label: place for place, label in enumerate(labels)}
    found: dict[str, int] = {}
    reach, number = -1, -1
    for lo, hi, label in sorted((*(domain.interval(label) or (0, 0)), label) for label in labels):
        number += lo >= reach
        reach = max(reach, hi)
        found |= {label: number} | {f"leaf {leaf}": number for leaf in range(lo, hi)}
    return found


# Optimality
# ----------


_ROUNDING = 2e-5


class OptimalityHonest(Check):
    """The measured loss is not below the bound that was claimed for all releases."""

    name: ClassVar[str] = "optimality"
    words: ClassVar[Wording] = Wording(
        title="Optimality",
        code="optimality",
        group="measured",
        measured=(
            "Information loss is {details.loss}; no release of this kind can have less than {found.lower_bound}.",
            "No release of this kind can have less loss than {found.lower_bound}.",
        ),
        violated="The stated lower bound is wrong: {reason}",
    )
    on_classes: ClassVar[bool] = True
    forms: ClassVar[tuple[type[Form], ...]] = (Recoded,)

    def ready(self, exhibit: ReleaseView) -> bool:
        return exhibit.private and optimality_statement(exhibit) is not None

    def examine(self, exhibit: ReleaseView) -> Finding:
        said = statement(exhibit)
        loss, bound = measured_objective(exhibit, said), said.lower_bound
        wrong = []
        if loss < bound * (1 - _ROUNDING) - 1e-12:
            wrong.append(
                f"the release loses {loss:.6g}, less than the {bound:.6g} that were said to be the least possible"
            )
        if said.proven_optimal and loss > bound * (1 + _ROUNDING) + 1e-9:
            wrong.append(f"the release is called optimal but loses {loss:.6g} with a bound of {bound:.6g}")
        achieved = {said.objective: float(f"{loss:.6g}"), "lower_bound": bound}
        grade, details = "exact" if wrong else MEASURED, {"loss": achieved[said.objective]}
        return Finding(self.name, not wrong, {}, achieved, grade=grade, reason="; ".join(wrong), details=details)


# Other columns
# -------------


class OtherColumns(Check):
    """k when the other columns are known too: measured on the published rows, not promised."""

    name: ClassVar[str] = "other columns"
    words: ClassVar[Wording] = Wording(
        title="Not covered",
        code="other-columns",
        group="measured",
        measured=(
            (
                "{found.alone} of {details.records record/records} are unique if {details.others} {details.verb} also"
                " known."
            ),
            "{found.alone record/records} are unique if the other columns are also known.",
        ),
        warns=lambda found: bool(found["alone"]),
        advice="Make these columns quasi-identifiers, or set `publish: false`.",
    )
    on_classes: ClassVar[bool] = True
    forms: ClassVar[tuple[type[Form], ...]] = (Recoded,)

    def ready(self, exhibit: ReleaseView) -> bool:
        return bool(
            exhibit.policy.quasi_identifiers and "data" in exhibit.parts and _others(exhibit) and exhibit.data.rows
        )

    def examine(self, exhibit: ReleaseView) -> Finding:
        known = tuple(
            name for name in (*exhibit.policy.quasi_identifiers, *_others(exhibit)) if name in exhibit.data.names
        )
        table = exhibit.data
        sizes = equivalence_classes_of(
            [table.text(name).codes for name in known], rows=table.rows, weights=table.counts
        ).counts
        achieved = {"k": int(sizes.min()), "alone": int((sizes == 1).sum())}
        others = _others(exhibit)
        details = {
            "records": int(sizes.sum()),
            "others": join_names(others),
            "verb": "is" if len(others) == 1 else "are",
            "columns": list(others),
        }
        return Finding(self.name, True, {}, achieved, known, grade=MEASURED, details=details)


def _others(exhibit: ReleaseView) -> tuple[str, ...]:
    return tuple(name for name in exhibit.policy.with_role("other") if name in exhibit.data.names)


# Alibi
# -----


class AlibiRows(Check):
    """How many people are in classes that satisfy a requirement only by covering rows: measured, not required."""

    name: ClassVar[str] = "alibi rows"
    words: ClassVar[Wording] = Wording(
        title="Protected by suppressed rows",
        code="relies-on-suppressed-rows",
        group="measured",
        measured="{found.people person/people} are protected only because suppressed rows could be theirs.",
        warns=lambda found: bool(found["people"]),
        advice="Ask for `p-sensitivity` instead: it must hold in every class by itself.",
    )
    forms: ClassVar[tuple[type[Form], ...]] = (Recoded,)
    steady: ClassVar[bool] = False

    def ready(self, exhibit: ReleaseView) -> bool:
        return "data" in exhibit.parts and any(claim.model.joint for claim in exhibit.policy.claims)

    def examine(self, exhibit: ReleaseView) -> Finding:
        claims = [claim for claim in exhibit.policy.claims if claim.model.joint]
        achieved = {"people": max(_in_classes(exhibit, claim) for claim in claims)}
        if is_series(exhibit):
            bundles, cohorts = exhibit.once(published_cells_of), is_membership_known_for_view(exhibit)
            found = [
                judge_by_classes(bundles, widen_requirement(claim, exhibit.policy, bundles.policies), cohorts)
                for claim in claims
            ]
            achieved |= {"people_over_all_releases": max(0 if one is None else one.below for one in found)}
        given = tuple(dict.fromkeys(name for claim in claims for name in claim.given))
        hide = tuple(dict.fromkeys(name for claim in claims for name in claim.hide))
        return Finding(self.name, True, {}, achieved, given, hide, grade=MEASURED)


def _in_classes(exhibit: ReleaseView, claim: PrivacyRequirement) -> int:
    """People of this release in classes of equal cells that break the requirement."""
    table = exhibit.data
    told = [name for name in claim.hide if name in table.names]
    if not told:
        return 0
    known = [name for name in claim.given if name in table.names]
    classes = equivalence_classes_of([table.text(name).codes for name in known], rows=table.rows)
    seen = Linkage.of_groups(classes.of, {name: (table.text(name).codes, table.text(name).labels) for name in told})
    holds = claim.model.satisfied(seen)
    return int(seen.people[~holds].sum())


# Counterfeits
# ------------


class Counterfeits(Check):
    """The number of counterfeit records for people who left is within the policy's limit."""

    name: ClassVar[str] = "counterfeits"
    words: ClassVar[Wording] = Wording(
        title="Counterfeit records",
        code="counterfeit-records",
        holds=(
            "{found.counterfeits counterfeit record/counterfeit records} declared beside "
            "{found.input real one/real ones} (limit: {asked.counterfeits_at_most %})."
        ),
        violated=(
            "{found.counterfeits counterfeit record/counterfeit records} declared beside "
            "{found.input real one/real ones}, above the limit of {asked.counterfeits_at_most %}."
        ),
    )
    forms: ClassVar[tuple[type[Form], ...]] = (Recoded,)
    on_classes: ClassVar[bool] = True

    def ready(self, exhibit: ReleaseView) -> bool:
        return exhibit.policy.series.counterfeits_at_most is not None and (
            exhibit.private or exhibit.records is not None
        )

    def examine(self, exhibit: ReleaseView) -> Finding:
        limit, many = exhibit.policy.series.counterfeits_at_most, exhibit.of(Recoded).counterfeits
        assert limit is not None
        inputs = exhibit.inputs if exhibit.records is None or exhibit.private else exhibit.records.input
        fine = many <= limit * inputs + 1e-9
        return Finding(
            self.name,
            fine,
            {"counterfeits_at_most": limit},
            {"counterfeits_at_most": round_significant(many / max(inputs, 1)), "counterfeits": many, "input": inputs},
            reason="" if fine else f"{many} counterfeit records beside {inputs} records, the policy allows {limit:.3%}",
        )
