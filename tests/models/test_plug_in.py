"""A model that nobody has thought of: one file in the room, and everything works with it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import sfumato as sf
import sfumato.core.registry
import sfumato.models
from sfumato.core.registry import catalogue
from sfumato.release.method import Method
from sfumato.ui.demos.tables import discharges

SURPLUS = '''
"""log-surplus: no sensitive value is more than e^delta times as frequent among anybody's candidates as in the release."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from pydantic import Field

from sfumato.data.linkage import Linkage
from sfumato.models.base import Example, Model, Safer, Short, example_classes, all_hold, round_significant


class LogSurplus(Model):
    """No sensitive value is more than e^delta times as frequent among anybody's candidates as in the whole release."""

    name: ClassVar[str] = "log-surplus"
    levels: ClassVar[Mapping[str, Safer]] = {"delta": "less"}
    short: ClassVar[Short | None] = Short("surplus", "delta")
    examples: ClassVar[tuple[Example, ...]] = (
        Example({"delta": 0.5}, holds=example_classes("aab", "abb"), fails=example_classes("aaa", "bbb")),
    )

    delta: float = Field(gt=0, description="largest logarithm of the ratio of shares")

    def satisfied(self, linkage: Linkage) -> Any:
        return all_hold(linkage, [self._ratio(spread) <= self.delta + 1e-12 for spread in linkage.spread.values()])

    def achieved(self, linkage: Linkage) -> dict[str, Any]:
        return {"delta": round_significant(max((float(self._ratio(s).max()) for s in linkage.spread.values()), default=0.0))}

    def _ratio(self, spread: Any) -> Any:
        each = np.log(spread.shares() / spread.overall()[spread.value])
        return np.maximum.reduceat(each, spread.start[:-1])
'''
VALUES = '''
"""n-values: at least n different sensitive values among everybody's candidates."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import Field

from sfumato.data.linkage import Linkage
from sfumato.models.base import Demand, Example, Model, Safer, Short, example_classes, all_hold


class NValues(Model):
    """At least n different values of everything sensitive."""

    name: ClassVar[str] = "n-values"
    levels: ClassVar[Mapping[str, Safer]] = {"n": "more"}
    short: ClassVar[Short | None] = Short("different-values", "n")
    examples: ClassVar[tuple[Example, ...]] = (Example({"n": 2}, holds=example_classes("ab"), fails=example_classes("aa")),)

    n: int = Field(ge=1, description="fewest different values")

    def demand(self) -> Demand:
        return Demand(distinct=self.n, sufficient=True)

    def satisfied(self, linkage: Linkage) -> Any:
        return all_hold(linkage, [spread.distinct() >= self.n for spread in linkage.spread.values()])

    def achieved(self, linkage: Linkage) -> dict[str, Any]:
        return {"n": min((int(spread.distinct().min()) for spread in linkage.spread.values()), default=0)}
'''
COLUMNS = {
    "age": {"role": "quasi-identifier", "hierarchy": {"intervals": [10, 20]}},
    "sex": "quasi-identifier",
    "diagnosis": "sensitive",
}
NAMES = ["name", "age", "sex", "zip", "admitted", "ward", "diagnosis"]
SECONDS = {"refined": {"seconds": 0.05}, "optimal": {"seconds": 0.2}}


@pytest.fixture(autouse=True)
def room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The models' room with one more folder."""
    (tmp_path / "log_surplus.py").write_text(SURPLUS)
    (tmp_path / "n_values.py").write_text(VALUES)
    monkeypatch.setattr(sfumato.models, "__path__", [*sfumato.models.__path__, str(tmp_path)])
    yield
    for name in ("log_surplus", "n_values"):
        sys.modules.pop(f"sfumato.models.{name}", None)


def table() -> dict[str, list[str]]:
    rows = discharges(300)
    return {name: [row[i] for row in rows] for i, name in enumerate(NAMES)}


@pytest.mark.parametrize("claim", ["age, sex -> diagnosis : 1.2-surplus", "age, sex -> diagnosis : 3-different-values"])
def test_every_method_that_accepts_a_new_model_keeps_it(claim: str) -> None:
    tree = {"version": 1, "columns": COLUMNS, "protect": [claim]}
    policy = sf.Policy.parse(tree)
    able = []
    for name, method in catalogue("methods", Method).items():
        if "table" in method.kinds and not any(field.is_required() for field in method.model_fields.values()):
            chosen = method(**SECONDS.get(name, {}))
            if chosen.enforces(policy.claims[0], policy) and not chosen.refusal(policy):
                able.append(name)
    assert {"mondrian", "clustering", "refined", "optimal", "anatomy", "guardian"} <= set(able)
    for name in able:
        made = sf.publish(sf.Policy.parse({**tree, "method": {name: SECONDS.get(name, {})}}), data=table())
        finding = next(found for found in made.certificate.findings if found.model == policy.claims[0].model.name)
        assert finding.holds, name
        assert policy.claims[0].model.reaches(finding.achieved, finding.required), name


def test_a_word_that_two_models_claim_is_refused(tmp_path: Path) -> None:
    (tmp_path / "another.py").write_text(VALUES.replace('"n-values"', '"m-values"'))
    sfumato.core.registry._scanned.cache_clear()
    with pytest.raises(sf.PolicyError, match="could mean"):
        sf.Policy.parse({"version": 1, "columns": COLUMNS, "protect": ["age -> diagnosis : 3-different-values"]})


def test_an_unknown_word_is_answered_with_the_known_ones() -> None:
    with pytest.raises(sf.PolicyError) as told:
        sf.Policy.parse({"version": 1, "columns": COLUMNS, "protect": ["age -> diagnosis : 3-dispersion"]})
    assert "-surplus" in str(told.value.hint)
    assert "-closeness" in str(told.value.hint)
