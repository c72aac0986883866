"""Small mistakes in the audit that `benchmarks/mutation.py` planted and that no test noticed before."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.core.errors import LedgerError
from sfumato.history.judge.earlier_requirements import already_disclosed
from sfumato.history.judge.sequence import judge_all_releases
from sfumato.history.ledger import Ledger
from sfumato.history.ledger.forgetting import forget
from sfumato.kinds.tables.form import Recoded
from sfumato.release.certificate import NOTHING_PUBLISHED, Finding
from sfumato.release.folder import provenance_path
from sfumato.release.release import Part
from sfumato.release.view import ReleaseView
from sfumato.workflow.import_release import import_release
from tests.secret import secret
from tests.trust.every_form import copy_of, read, redo, write

PEOPLE = {"id": [f"p{n}" for n in range(12)], "age": ["30", "40"] * 6, "ill": list("aabbcc") * 2}
KEYED = {"id": "identifier", "age": "quasi-identifier", "ill": "sensitive"}


def policy(columns: dict[str, Any], protect: list[Any], **more: Any) -> sf.Policy:
    return sf.Policy.parse({"version": 1, "columns": columns, "protect": protect, "method": "mondrian"} | more)


def finding(folder: Path, model: str, original: Any = None) -> Finding:
    return next(one for one in sf.verify(folder, original=original).findings if one.model == model)


@pytest.fixture
def book(tmp_path: Path) -> Path:
    made = sf.publish(
        policy(KEYED, [{"k-anonymity": {"k": 2}}], key="id"), PEOPLE, ledger=tmp_path / "book", new_ledger=True
    )
    made.write(tmp_path / "out", report=False)
    return tmp_path / "book"


def test_candidates_of_a_population_by_its_fraction_are_counted_again(tmp_path: Path) -> None:
    """`recount/population.py`: without this branch the recount counts nothing and says so, and nobody looked."""
    columns = {"age": "quasi-identifier", "ill": "sensitive"}
    data = {"age": ["30", "40"] * 20, "ill": list("abcd") * 10}
    asked = policy(columns, [{"k-map": {"k": 4}}], population={"fraction": 0.5})
    folder = sf.publish(asked, data=data, seed=secret(1)).write(tmp_path / "out", report=False)
    counted = finding(folder, "floor")
    assert counted.verdict is True and counted.details == {"counted": 1, "claims": 1}


def test_people_with_several_rows_are_one_more_claim_of_the_recount(tmp_path: Path) -> None:
    """`certify.py`: how many claims were counted again is part of the sentence."""
    data = {"id": [f"p{n // 2}" for n in range(24)], "age": ["30"] * 24, "ill": list("abcd") * 6}
    asked = policy(KEYED, [{"k-anonymity": {"k": 4}}], person={"columns": "id"})
    made = sf.publish(asked, data=data, seed=secret(1))
    folder = made.write(tmp_path / "out", report=False)
    assert finding(folder, "floor").details == {"counted": 1, "claims": 1}
    said = next(one for one in made.findings if one.model == "floor")
    assert said.details == {"counted": 2, "claims": 2}


def test_a_certificate_that_says_the_opposite_is_described(tmp_path: Path) -> None:
    folder, _ = copy_of("recoded table", tmp_path)
    rows = read(folder / "data.csv")
    rows[0]["sex"] = "never seen"
    write(folder / "data.csv", rows)
    redo(folder)
    assert "stated as holding, found as broken" in finding(folder, "certificate").reason


def test_a_violated_model_says_who_falls_below() -> None:
    why = "2 people in 1 equivalence class do not reach the required level"
    said = Finding("k-anonymity", False, {"k": 5}, {"k": 2}, ("age",), reason=why).sentence
    assert said == f"The smallest equivalence class has only 2 records (required: 5). {why}."


def test_a_ledger_whose_file_is_damaged_is_not_used(book: Path) -> None:
    """`ledger.py`: damage that no query of ours meets; only SQLite's own check finds it."""
    content = bytearray(book.read_bytes())
    content[36:40] = (7).to_bytes(4, "big")  # pages said to be free, of which there are none
    book.write_bytes(content)
    with pytest.raises(LedgerError, match="damaged"):
        Ledger(book).verify()


def test_an_entry_of_somebody_forgotten_counts_nobody(book: Path) -> None:
    forget(Ledger(book), "p3")
    entry = Ledger(book).entries()[-1]
    assert entry.forgets
    assert (entry.body["records"], entry.body["counterfeits"]) == (0, 0)


def test_a_hidden_column_that_is_not_published_links_nobody() -> None:
    asked = policy(KEYED, [{"k-linkability": {"k": 2}}], key="id")
    view = ReleaseView(Recoded(), {"data": Part(pa.table({"age": ["30", "30"]}))}, asked)
    found = judge_all_releases(view, asked.claims[0])
    assert found.verdict is True and dict(found.achieved) == NOTHING_PUBLISHED


def test_what_earlier_releases_disclosed_is_said_before_the_next(tmp_path: Path) -> None:
    """`earlier_requirements.py`: an imported table told everybody's illness."""
    (tmp_path / "people.csv").write_text("id,age,ill\np0,30,a\np1,40,b\np2,50,c\n")
    (tmp_path / "published.csv").write_text("age,ill\n30,a\n40,b\n50,c\n")
    tree = {"version": 1, "key": "id", "data": {"source": "people.csv"}, "columns": KEYED}
    (tmp_path / "policy.yaml").write_text(json.dumps(tree | {"protect": [{"l-diversity": {"l": 2}}]}))
    ledger = tmp_path / "book"
    import_release(str(tmp_path / "policy.yaml"), str(tmp_path / "published.csv"), ledger=str(ledger), new_ledger=True)
    asked = sf.Policy.read(tmp_path / "policy.yaml")
    said = [*already_disclosed(Ledger(ledger).history(), asked)]
    assert any("earlier releases leave l-diversity at l 1" in one for one in said)


def test_totals_of_averages_are_compared_without_the_provenance(tmp_path: Path) -> None:
    folder, original = copy_of("microaggregated table", tmp_path)
    provenance_path(folder).unlink(missing_ok=True)
    rows = read(folder / "data.csv")
    ages = {row["age"] for row in rows}
    highest = max(ages, key=float)
    write(
        folder / "data.csv", [row | {"age": str(float(highest) + 10)} if row["age"] == highest else row for row in rows]
    )
    redo(folder)
    found = finding(folder, "averages", original)
    assert found.verdict is False and "the total of 'age' is not the original's" in found.reason
