"""Defects planted in the ground that methods and audit share: both are wrong together, and the floor says no.

Each mutation changes one function of policy, data, models, decomposition, io or release while a small table is
published. What the certificate says of itself (`release.honesty`) is switched off, so that the floor stands alone."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.core.errors import AuditRefused
from sfumato.data import equivalence_classes, persons, table
from sfumato.data.linkage import Linkage, ValueDistribution
from sfumato.kinds.subtables import guardian_normal_form
from sfumato.models import base, t_closeness
from sfumato.models.alpha_k_anonymity import AlphaK
from sfumato.models.k_anonymity import KAnonymity
from sfumato.models.l_diversity import LDiversity
from sfumato.models.p_sensitivity import PSensitivity
from sfumato.policy import policy, requirements, yaml_document
from sfumato.release import folder as release_folder
from sfumato.release.certificate import Finding
from sfumato.release.release import Part

COLUMNS = {
    "name": "identifier",
    "age": {"role": "quasi-identifier", "hierarchy": {"intervals": [10, 50]}},
    "zip": {"role": "quasi-identifier", "hierarchy": {"prefix": 5}},
    "sex": "quasi-identifier",
    "illness": "sensitive",
}
K_AND_L: list[Any] = [{"k-anonymity": {"k": 5}}, {"l-diversity": {"l": 2}}]


def rows_of_people(seed: int = 5, rows: int = 200) -> dict[str, list[str]]:
    rng = random.Random(seed)
    return {
        "name": [f"n{i}" for i in range(rows)],
        "age": [str(rng.randint(20, 69)) for _ in range(rows)],
        "zip": [rng.choice("18") + "".join(rng.choice("0123") for _ in range(4)) for _ in range(rows)],
        "sex": [rng.choice(["m", "f"]) for _ in range(rows)],
        "illness": [rng.choice(["flu", "Flu", "gout", "cold", "cold", "cold"]) for _ in range(rows)],
        "pay": [rng.choice(["9", "10", "100", "1000", ""]) for _ in range(rows)],
        "patient": [f"p{rng.randrange(rows // 4)}" for _ in range(rows)],
    }


@dataclass(frozen=True)
class Mutation:
    """One defect, and a policy under which it shows."""

    name: str
    plant: Callable[[pytest.MonkeyPatch], None]
    protect: list[Any] = field(default_factory=lambda: K_AND_L)
    method: str = "mondrian"
    columns: dict[str, Any] = field(default_factory=lambda: COLUMNS)
    seen_by: str = "floor"
    person: str | None = None

    @property
    def tree(self) -> dict[str, Any]:
        whose = {} if self.person is None else {"person": self.person}
        return {"version": 1, "columns": self.columns, "protect": self.protect, "method": {self.method: {}}, **whose}


def everywhere(patch: pytest.MonkeyPatch, function: Callable[..., Any], instead: Callable[..., Any]) -> None:
    """Replace a function under every name by which a room has imported it."""
    for name, module in list(sys.modules.items()):
        if name.startswith("sfumato."):
            for key, value in list(vars(module).items()):
                if value is function:
                    patch.setattr(module, key, instead)


def method(patch: pytest.MonkeyPatch, cls: type, name: str, instead: Callable[..., Any]) -> None:
    """Replace a method or a property by something that is given the old one first."""
    old = vars(cls)[name]
    if isinstance(old, property):
        patch.setattr(cls, name, property(lambda self: instead(old.fget, self)))
    elif isinstance(old, classmethod):
        patch.setattr(cls, name, classmethod(lambda cls, *given, **more: instead(old.__func__, cls, *given, **more)))
    else:
        patch.setattr(cls, name, lambda self, *given, **more: instead(old, self, *given, **more))


def fewer(forgotten: str, kept: slice) -> Callable[..., Any]:
    """Of the columns with this role only some."""
    old = policy.names_with
    return lambda columns, role, **more: old(columns, role, **more)[kept if role == forgotten else slice(None)]


def doubled_counts(old: Any, cls: Any, *given: Any) -> Linkage:
    link = old(cls, *given)
    return Linkage(link.people, link.candidates * 2, link.spread)


def forgetful_group(
    columns: Any, *, rows: int | None = None, weights: Any = None
) -> equivalence_classes.EquivalenceClasses:
    return GROUP(columns[:-1], rows=len(columns[-1])) if len(columns) > 1 else GROUP(columns, rows=rows)


def stripped(column: pa.ChunkedArray, name: str) -> table.TextColumn:
    return AS_TEXT(pa.chunked_array([[str(value).lower() for value in column.to_pylist()]]), name)


def text_order(spread: ValueDistribution, declared: tuple[str, ...], column: str) -> Any:
    return np.argsort(np.argsort(np.array(spread.labels, dtype=str))).astype(np.int64)


def one_row_less(part: Part, path: Path, *dialect: Any) -> None:
    WRITE(Part(part.table.slice(1)), path, *dialect)


def cut_short(part: Part, path: Path, *dialect: Any) -> None:
    columns = [pa.array([str(value)[:1] for value in column.to_pylist()]) for column in part.table.columns]
    WRITE(Part(pa.table(columns, names=part.table.column_names)), path, *dialect)


def first_only(linkage: Linkage, verdicts: list[Any]) -> Any:
    return verdicts[0] if verdicts else np.ones(len(linkage.candidates), dtype=np.bool_)


def every_row_somebody(table: table.Table, columns: Any) -> Any:
    return np.arange(table.rows)


def one_less(cls: Any, values: Any, *given: Any) -> Any:
    model = DECLARE(cls, values, *given)
    return model.model_copy(update={"p": model.p - 1}) if cls is PSensitivity else model


def lost_tail(
    old: Any, cls: Any, kind: Any, value: Any, kinds: int, labels: tuple[str, ...], weight: Any = None
) -> ValueDistribution:
    """The most frequent value of every kind counts once."""
    spread = old(cls, kind, value, kinds, labels, weight)
    return ValueDistribution(spread.start, spread.value, np.minimum(spread.weight, 1), spread.labels)


GROUP, AS_TEXT, WRITE = equivalence_classes.equivalence_classes_of, table.as_text, release_folder.write_part
READ, DECLARE = requirements.read_requirements, yaml_document.instantiate
TWO = COLUMNS | {"pay": "sensitive"}
FREQUENCY: list[Any] = [{"l-diversity": {"l": 1.5, "kind": "frequency"}}]
HIDDEN: list[Any] = [{"given": ["age", "sex"], "hide": "illness", "by": {"p-sensitivity": {"p": 2}}}]
OF_PATIENTS = COLUMNS | {"patient": "identifier", "illness": {"role": "sensitive", "persistent": False}}
RULES: dict[str, Any] = dict.fromkeys(["age", "sex", "illness", "zip"], "other")

MUTATIONS = [
    # the five of the review
    Mutation(
        "k-anonymity is satisfied by three less",
        lambda patch: patch.setattr(KAnonymity, "satisfied", lambda self, link: link.candidates >= self.k - 3),
    ),
    Mutation(
        "the policy forgets its last quasi-identifier",
        lambda patch: everywhere(patch, policy.names_with, fewer("quasi-identifier", slice(None, -1))),
    ),
    Mutation("linkage counts everybody twice", lambda patch: method(patch, Linkage, "of_groups", doubled_counts)),
    Mutation(
        "one value more than there is",
        lambda patch: method(patch, ValueDistribution, "distinct", lambda old, self: old(self) + 1),
        [{"p-sensitivity": {"p": 2}}],
    ),
    Mutation(
        "groups forget a column",
        lambda patch: everywhere(patch, equivalence_classes.equivalence_classes_of, forgetful_group),
        [{"given": ["sex", "age"], "hide": "illness", "by": {"p-sensitivity": {"p": 2}}}],
        method="anatomy",  # a recoded table is safe by luck: the method forgets the column as well, and joins everybody
    ),
    # and more
    Mutation(
        "numbers are ordered as text",
        lambda patch: patch.setattr(t_closeness, "_ranks", text_order),
        [{"given": ["age", "sex"], "hide": "pay", "by": {"t-closeness": {"t": 0.4, "distance": "ordered"}}}],
        columns=TWO,
    ),
    Mutation(
        "the largest share is the smallest",
        lambda patch: patch.setattr(
            ValueDistribution, "largest", lambda self: np.minimum.reduceat(self.weight, self.start[:-1])
        ),
        FREQUENCY,
    ),
    Mutation(
        "totals are doubled",
        lambda patch: method(patch, ValueDistribution, "total", lambda old, self: 2 * old(self)),
        FREQUENCY,
    ),
    Mutation(
        "spellings are merged when text is read",
        lambda patch: everywhere(patch, table.as_text, stripped),
        [{"given": ["sex"], "hide": "illness", "by": {"l-diversity": {"l": 1.5, "kind": "entropy"}}}],
    ),
    Mutation(
        "the last claim is not read",
        lambda patch: everywhere(patch, requirements.read_requirements, lambda *given: READ(*given)[:-1]),
    ),
    Mutation(
        "only the first sensitive column is hidden",
        lambda patch: everywhere(patch, policy.names_with, fewer("sensitive", slice(None, 1))),
        columns=TWO,
    ),
    Mutation(
        "figures are rounded to one digit",
        lambda patch: everywhere(patch, base.round_significant, lambda value: float(f"{value:.1g}")),
        [{"l-diversity": {"l": 1.5, "kind": "entropy"}}],
    ),
    Mutation(
        "a row is lost on the way to the file", lambda patch: everywhere(patch, release_folder.write_part, one_row_less)
    ),
    Mutation(
        "cells are cut short in the file",
        lambda patch: everywhere(patch, release_folder.write_part, cut_short),
        seen_by="truthfulness",
    ),
    Mutation(
        "frequency is taken for distinct",
        lambda patch: patch.setattr(LDiversity, "_level", lambda self, spread: spread.distinct().astype(float)),
        FREQUENCY,
    ),
    Mutation(
        "several columns are judged by the first",
        lambda patch: everywhere(patch, base.all_hold, first_only),
        [{"p-sensitivity": {"p": 3}}],
        columns=TWO,
    ),
    Mutation(
        "levels are read as one less",
        lambda patch: everywhere(patch, yaml_document.instantiate, one_less),
        [{"p-sensitivity": {"p": 3}}],
    ),
    Mutation(
        "shares may be larger by a fifth",
        lambda patch: patch.setattr(
            AlphaK,
            "satisfied",
            lambda self, link: (link.candidates >= self.k) & _shares_at_most(link, self.alpha + 0.2),
        ),
        [{"alpha-k-anonymity": {"alpha": 0.6, "k": 3}}],
    ),
    Mutation(
        "frequent values count once", lambda patch: method(patch, ValueDistribution, "count", lost_tail), FREQUENCY
    ),
    Mutation(
        "chains of tables are not followed",
        lambda patch: everywhere(patch, guardian_normal_form.reachable_columns, lambda start, tables: frozenset(start)),
        ["age, sex -> illness : 2-diversity", "illness -> zip : 1.5-diversity"],
        method="guardian",
        columns=RULES,
    ),
    *(
        Mutation(
            f"every row is a person of {method}",
            lambda patch: everywhere(patch, persons.persons_of_rows, every_row_somebody),
            protect,
            method,
            OF_PATIENTS,
            person="patient",
        )
        for method, protect in (("mondrian", K_AND_L), ("anatomy", HIDDEN), ("utility-aware", HIDDEN))
    ),
]


def _shares_at_most(link: Linkage, limit: float) -> Any:
    (spread,) = link.spread.values()
    return spread.largest() <= limit * spread.total()


def refused(tree: dict[str, Any]) -> str:
    """Why nothing may be published under this policy; empty when it may."""
    try:
        sf.publish(sf.Policy.parse(tree), data=rows_of_people(), seed=1)
    except AuditRefused as error:
        return error.what
    return ""


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.name.replace(" ", "-"))
def test_a_defect_in_shared_ground_is_refused_by_the_floor(mutation: Mutation, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not refused(mutation.tree)
    monkeypatch.setattr(Finding, "__post_init__", lambda self: None)
    mutation.plant(monkeypatch)
    reason = refused(mutation.tree)
    assert f" {mutation.seen_by}: " in reason, reason


def test_the_certificate_by_itself_stops_a_weakened_comparison(monkeypatch: pytest.MonkeyPatch) -> None:
    first = MUTATIONS[0]
    first.plant(monkeypatch)
    with pytest.raises(AuditRefused, match=r"k is \d where 5 was asked for"):
        sf.publish(sf.Policy.parse(first.tree), data=rows_of_people(), seed=1)


def test_sentences_carry_no_values_of_people(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Finding, "__post_init__", lambda self: None)
    values = {value for name in ("zip", "illness", "name") for value in rows_of_people()[name]}
    for mutation in MUTATIONS[:5]:
        with monkeypatch.context() as patch:
            mutation.plant(patch)
            reasons = [refused(mutation.tree)]
        assert not any(value in sentence.replace(",", " ").split() for sentence in reasons for value in values)
