"""Adding something is one file: a metric, a form with its reading, a graph attack; and a model that the contract sees
through.

Models and recoding methods that nobody has thought of are in tests/models/test_plug_in.py and
tests/recoding/test_full_domain.py."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import sfumato as sf
from sfumato.core.registry import catalogue, entry
from sfumato.kinds.person_evidence import PEOPLE as COUNT_OF_PEOPLE
from sfumato.release.attack import Attack
from sfumato.release.evidence import Check, Evidence, evidence_for
from sfumato.release.form import Form

METRIC = '''
"""Precision: the share of published quasi-identifier cells that are exact values."""

from __future__ import annotations

from typing import ClassVar

from sfumato.release.metric import Metric
from sfumato.release.view import ReleaseView


class Precision(Metric):
    """Share of quasi-identifier cells that stand for one value alone."""

    name: ClassVar[str] = "precision"
    range: ClassVar[str] = "0 … 1"

    def measure(self, exhibit: ReleaseView) -> float:
        shares = []
        for name in exhibit.recoded:
            lo, hi = exhibit.intervals(name)
            counts = exhibit.data.text(name).counts()
            shares.append(float(counts[hi - lo == 1].sum() / counts.sum()))
        return sum(shares) / len(shares)
'''

FORM = '''
"""Tally: how many people have each combination of quasi-identifiers, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from pydantic import Field

from sfumato.release.view import ReleaseView
from sfumato.release.form import Form, differing_columns, differing_parts


class Tally(Form):
    """Counts of combinations; rare ones are left out."""

    name: ClassVar[str] = "tally"

    least: int = Field(default=1, ge=1, description="combinations with fewer people are left out")

    def misfits(self, exhibit: ReleaseView) -> Iterator[str]:
        yield from differing_parts(exhibit, ["data"])
        yield from differing_columns(exhibit, "data", [*exhibit.policy.quasi_identifiers, "people"])

    def records(self, exhibit: ReleaseView) -> int:
        return int(exhibit.data.numbers("people").sum())
'''

READING = '''
"""Everybody's candidates are the people counted in the own combination."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from sfumato.release.evidence import Evidence
from sfumato.data.linkage import Linkage
from sfumato.kinds.tally import Tally
from sfumato.policy.requirements import PrivacyRequirement
from sfumato.release.view import ReleaseView
from sfumato.release.form import Form


class TallyReading(Evidence):
    """Counts are candidates."""

    name: ClassVar[str] = "tally"
    form: ClassVar[type[Form]] = Tally

    def read(self, exhibit: ReleaseView, claim: PrivacyRequirement) -> Linkage:
        people = exhibit.data.numbers("people").astype(np.int64)
        return Linkage(people, people)
'''

METHOD = '''
"""`tallying`: count people by their quasi-identifiers and leave out who is too few."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import pyarrow as pa

from sfumato.data.equivalence_classes import equivalence_classes_of
from sfumato.kinds.tally import Tally
from sfumato.release.method import Method, Task
from sfumato.policy.requirements import PrivacyRequirement
from sfumato.policy.policy import Policy
from sfumato.release.form import Form
from sfumato.release.release import Part, Release


class Tallying(Method):
    """Count combinations, leave out rare ones."""

    name: ClassVar[str] = "tallying"
    form: ClassVar[type[Form]] = Tally

    def refusal(self, policy: Policy) -> str:
        return "" if policy.claims and all(self.enforces(claim, policy) for claim in policy.claims) else "it counts people only"

    def enforces(self, claim: PrivacyRequirement, policy: Policy) -> bool:
        return claim.model.demand().sufficient and not claim.model.needs_sensitive

    def run(self, task: Task) -> Release:
        names = task.policy.quasi_identifiers
        least = max(claim.model.demand().candidates for claim in task.policy.claims) - SHORT
        classes = equivalence_classes_of([task.data.text(name).codes for name in names])
        kept = np.flatnonzero(classes.counts >= least)
        shown = {name: task.data.column(name).combine_chunks().take(pa.array(classes.first[kept])) for name in names}
        table = pa.table({**shown, "people": pa.array(classes.counts[kept])})
        lost = task.data.rows - int(classes.counts[kept].sum())
        return Release(Tally(least=max(least, 1)), {"data": Part(table)}, lost)


SHORT = 0
'''

ATTACK = '''
"""`loners`: how many people have a number of ties that nobody else has."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from sfumato.release.attack import ReleaseAttack
from sfumato.kinds.graphs.form import Edges, published_graph
from sfumato.release.view import ReleaseView
from sfumato.release.form import Form


class Loners(ReleaseAttack):
    """Count the people whose degree is theirs alone."""

    name: ClassVar[str] = "loners"
    forms: ClassVar[tuple[type[Form], ...]] = (Edges,)

    def play(self, exhibit: ReleaseView) -> dict[str, Any]:
        _, counts = np.unique(exhibit.once(published_graph).degrees, return_counts=True)
        return {"alone": int((counts == 1).sum())}
'''

LIAR = '''
"""liar: everybody is always safe."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from pydantic import Field

from sfumato.models.base import Example, Model, Safer, example_classes


class Liar(Model):
    """Says yes."""

    name: ClassVar[str] = "liar"
    levels: ClassVar[Mapping[str, Safer]] = {"k": "more"}
    examples: ClassVar[tuple[Example, ...]] = (Example({"k": 3}, holds=example_classes("abc"), fails=example_classes("a")),)

    k: int = Field(ge=1, description="ignored")

    def satisfied(self, linkage: Any) -> Any:
        return np.ones(len(linkage.candidates), dtype=np.bool_)

    def achieved(self, linkage: Any) -> dict[str, Any]:
        return {"k": self.k}
'''

PLACES = {"forms": "kinds", "evidence": "kinds", "methods": "kinds", "metrics": "kinds", "attacks": "kinds"}
"""Where a new entry of a kind goes in these tests; `registry.ROOMS` says below which folders it is looked for."""


Add = Callable[[str, str, str], None]
PEOPLE = {"age": ["30"] * 5 + ["40"] * 4 + ["50"], "illness": list("ababababab")}


@pytest.fixture
def add(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Add]:
    """Puts a file into a room, for the length of a test."""
    made = []

    def into(room: str, name: str, text: str) -> None:
        name = f"{name}_{room}" if room == "evidence" else name
        room = PLACES.get(room, room)
        package = importlib.import_module(f"sfumato.{room}")
        folder = tmp_path / room / name
        folder.mkdir(parents=True)
        (folder / f"{name}.py").write_text(text)
        monkeypatch.setattr(package, "__path__", [*package.__path__, str(folder)])
        made.append(f"sfumato.{room}.{name}")

    yield into
    for module in made:
        sys.modules.pop(module, None)
        room, _, name = module.rpartition(".")
        vars(sys.modules[room]).pop(name, None)


def policy(method: str, k: int = 4) -> sf.Policy:
    columns = {"age": "quasi-identifier", "illness": "sensitive"}
    claims = [{"k-anonymity": {"k": k}}]
    return sf.Policy.parse({"version": 1, "columns": columns, "protect": claims, "method": {method: {}}})


def test_a_metric(add: Add, tmp_path: Path) -> None:
    add("metrics", "precision", METRIC)
    sf.publish(policy("mondrian"), data=PEOPLE, seed=1).write(tmp_path / "out")
    assert sf.measure(tmp_path / "out", original=PEOPLE)["precision"] == pytest.approx(0.5)


def test_a_form_with_its_reading(add: Add, tmp_path: Path) -> None:
    add("forms", "tally", FORM)
    add("evidence", "tally", READING)
    add("methods", "tallying", METHOD)
    publication = sf.publish(policy("tallying"), data=PEOPLE, seed=1)
    assert publication.certificate.findings[0].achieved == {"k": 4}
    assert (publication.certificate.records.published, publication.certificate.records.suppressed) == (9, 1)
    publication.write(tmp_path / "out")
    assert sf.verify(tmp_path / "out").holds


def test_a_form_that_is_not_kept_is_refused_by_its_reading(add: Add) -> None:
    add("forms", "tally", FORM)
    add("evidence", "tally", READING)
    add("methods", "tallying", METHOD.replace("SHORT = 0", "SHORT = 1"))
    with pytest.raises(sf.AuditRefused, match="k-anonymity"):
        sf.publish(policy("tallying", k=5), data=PEOPLE, seed=1)


def test_a_form_without_a_reading_is_refused_before_data_moves(add: Add) -> None:
    add("forms", "tally", FORM)
    add("methods", "tallying", METHOD)
    with pytest.raises(sf.PolicyError, match="nobody can judge a tally"):
        sf.publish(policy("tallying"), data=PEOPLE, seed=1)


@pytest.mark.parametrize("written", ["form: ClassVar[type[Form]] = Tally", "form = Tally"])
def test_a_reading_is_found_however_it_names_its_form(add: Add, written: str) -> None:
    add("forms", "tally", FORM)
    add("evidence", "tally", READING.replace("form: ClassVar[type[Form]] = Tally", written))
    tally = catalogue("forms", Form)["tally"].model_construct()
    assert evidence_for(tally).name == "tally"


def test_every_form_is_read_by_what_reads_its_nearest_kin() -> None:
    readings = catalogue("evidence", Evidence).values()
    for form in catalogue("forms", Form).values():
        able = [reading for kin in form.__mro__ for reading in readings if reading.form is kin]
        assert type(evidence_for(form.model_construct())) is able[0]


def test_an_entry_is_found_by_a_name_that_is_no_text() -> None:
    source = (Path(sf.__file__).parent / "kinds" / "person_evidence.py").read_text()
    assert "name: ClassVar[str] = PEOPLE" in source
    assert entry("checks", Check, COUNT_OF_PEOPLE) is catalogue("checks", Check)[COUNT_OF_PEOPLE]


def test_a_graph_attack(add: Add, tmp_path: Path) -> None:
    add("attacks", "loners", ATTACK)
    edges = {"source": [0, 0, 0, 1], "target": [1, 2, 3, 2]}
    club = {"version": 1, "data": {"kind": "graph"}, "protect": [{"k-degree-anonymity": {"k": 2}}]}
    sf.publish(sf.Policy.parse(club), data=edges, seed=1).write(tmp_path / "out")
    (tmp_path / "club.csv").write_text("source,target\n0,1\n0,2\n0,3\n1,2\n")
    attack = catalogue("attacks", Attack)["loners"](target=str(tmp_path / "out"), original=str(tmp_path / "club.csv"))  # type: ignore[call-arg]
    assert attack.run() == {"alone": 0}


def test_a_model_that_is_always_true_fails_the_contract(add: Add) -> None:
    from sfumato.models.base import Model
    from tests.house.test_contract import test_a_model_tells_examples_apart as told_apart

    add("models", "liar", LIAR)
    with pytest.raises(AssertionError):
        told_apart(catalogue("models", Model)["liar"])
