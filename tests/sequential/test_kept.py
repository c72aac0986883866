"""What is kept beside a ledger saves reading every release again, and is believed only where the chain has its
digest."""

from dataclasses import replace

import pyarrow as pa
import pytest

from sfumato.core.errors import LedgerError
from sfumato.data.generalization import Ranges
from sfumato.history.ledger import Ledger
from sfumato.history.ledger.forgetting import forget
from sfumato.history.ledger.stored_releases import cache_digest, cache_path, pack_memory
from sfumato.history.published_cells import PublishedCells, interval_of
from sfumato.workflow.publish import publish
from sfumato.workflow.verify import verify
from tests.secret import SEED

from .test_quarters import policy_of, population, quarters, some


@pytest.fixture(scope="module", params=["known", "unknown"])
def story(request, tmp_path_factory):
    """Three quarters in a ledger."""
    folder = tmp_path_factory.mktemp("kept")
    declared = policy_of(cohorts=request.param, leaving="counterfeits")
    quarters(folder, declared, 3)
    return folder, declared


def test_what_was_kept_is_what_the_releases_say(story):
    folder, _ = story
    history, _ = Ledger(folder / "book").place()
    assert history.kept is not None
    kept, read = PublishedCells(history), PublishedCells(replace(history, kept=None))
    assert (kept.kept, read.kept) == (3, 0)
    assert kept.to_arrow().equals(read.to_arrow())
    assert [sheet.releases for sheet in read.sheets] == [(0, 1, 2)]


def test_the_next_release_opens_only_the_newest(story, monkeypatch):
    folder, declared = story
    opened, read = [], Ledger._past
    monkeypatch.setattr(Ledger, "_past", lambda self, entry: opened.append(entry.number) or read(self, entry))
    assert publish(declared, some(population(), range(300)), seed=SEED, ledger=folder / "book").certificate.holds
    assert set(opened) <= {3}


@pytest.mark.parametrize(
    "harm", [lambda raw: raw[:-1] + bytes([raw[-1] ^ 1]), lambda raw: b"", lambda raw: raw[: len(raw) // 2]]
)
def test_another_file_is_as_good_as_none(story, harm):
    folder, declared = story
    path = cache_path(folder / "book")
    right = path.read_bytes()
    try:
        path.write_bytes(harm(right))
        assert Ledger(folder / "book").place()[0].kept is None
        assert publish(declared, some(population(), range(300)), seed=SEED, ledger=folder / "book").certificate.holds
    finally:
        path.write_bytes(right)


def test_verify_finds_what_was_forged_with_a_new_chain(tmp_path, monkeypatch):
    """Whoever can compute the chain anew can name another file; `verify` reads the releases themselves."""
    declared, table = policy_of(), some(population(), range(240))
    made = publish(declared, table, seed=SEED, ledger=tmp_path / "book", new_ledger=True)
    wrong = pa.table(PublishedCells(made.history).to_arrow()).set_column(1, "lineage", pa.array([[7] * 240]))
    forged = pack_memory(wrong.replace_schema_metadata({b"version": b"1"}))
    monkeypatch.setattr("sfumato.workflow.write.kept_of", lambda exhibit: forged)
    made.write(tmp_path / "q0", report=False)
    assert (
        cache_digest(cache_path(tmp_path / "book").read_bytes()) == Ledger(tmp_path / "book").entries()[-1].body["kept"]
    )
    with pytest.raises(LedgerError, match="not what its releases say"):
        verify(tmp_path / "q0", original=table, ledger=tmp_path / "book")


def test_whoever_is_forgotten_is_not_kept(tmp_path):
    declared, table = policy_of(), some(population(), range(240))
    publish(declared, table, seed=SEED, ledger=tmp_path / "book", new_ledger=True).write(tmp_path / "q0", report=False)
    old = cache_path(tmp_path / "book").read_bytes()
    forget(Ledger(tmp_path / "book"), "p7")
    assert not cache_path(tmp_path / "book").exists()
    cache_path(tmp_path / "book").write_bytes(old)  # from a backup
    assert Ledger(tmp_path / "book").place()[0].kept is None


def test_a_range_around_everybody_then_is_not_one_around_everybody_now():
    """A cell that once covered the whole column does not cover who came later with a larger value."""
    then, now = Ranges(("17", "25", "40")), Ranges(("17", "25", "40", "90"))
    assert interval_of(1, "age", "17-40", then, now) == (0, 3)
