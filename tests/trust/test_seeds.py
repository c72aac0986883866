"""A release from a seed that can be tried out is marked, and where its promises rest on chance they do not hold."""

from __future__ import annotations

import json
from pathlib import Path

import networkx as nx
import numpy as np
import pytest

import sfumato as sf
from sfumato.core.randomness import Randomness, is_guessable, read_seed
from sfumato.data.graph import Graph
from sfumato.kinds.graphs.edge_flips import flip_edges_keeping_names
from sfumato.kinds.graphs.form import Edges
from tests.command_line import run
from tests.secret import SEED
from tests.slow import SLOW
from tests.trust import twins
from tests.trust.twins import FORMS

MARK = "made from a given seed: not for publication"
ON_CHANCE = {"subtables", "replaced", "walked", "baskets", "flipped", "database"}
GRAPH = {"version": 1, "data": {"kind": "graph"}, "method": {"edge-perturbation": {"mu": 0.05}}}


def in_turn(seeds: list[int | None]) -> list[tuple[str, int | None]]:
    """Every form with every other of these seeds, neighbours with different ones; in `make slow` with all."""
    pairs = [(row + column, form, seed) for row, form in enumerate(FORMS) for column, seed in enumerate(seeds)]
    return [(form, seed) for place, form, seed in pairs if SLOW or place % 2 == 0]


@pytest.mark.parametrize(("form", "seed"), in_turn([0, 42, 2**127 - 1, -5]))
def test_a_seed_that_can_be_guessed_is_marked_and_undoes_what_rests_on_chance(
    form: str, seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(twins, "SEED", seed)
    publication, _ = FORMS[form](tmp_path)
    folder = publication.write(tmp_path / "out")
    manifest, certificate = (json.loads((folder / f"{name}.json").read_text()) for name in ("manifest", "certificate"))
    assert manifest["public"]["mark"] == MARK
    assert MARK in certificate["assumptions"]
    assert certificate["holds"] == publication.certificate.holds == (form not in ON_CHANCE)
    assert sf.verify(folder).violated == (form in ON_CHANCE)
    broken = [finding["model"] for finding in certificate["findings"] if finding["holds"] is False]
    assert broken == (["seed"] if form in ON_CHANCE else [])
    assert MARK in (folder / "report.html").read_text()


@pytest.mark.parametrize(("form", "seed"), in_turn([None, SEED, 2**127]))
def test_a_seed_nobody_can_try_out_is_like_chance(
    form: str, seed: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(twins, "SEED", seed)
    publication, _ = FORMS[form](tmp_path)
    folder = publication.write(tmp_path / "out")
    assert publication.certificate.holds
    assert not sf.verify(folder).violated
    assert not any(b"given seed" in path.read_bytes() for path in folder.rglob("*") if path.is_file())


def test_every_form_says_whether_it_rests_on_chance(tmp_path: Path) -> None:
    found = {name for name, make in FORMS.items() if make(_fresh(tmp_path, name))[0].release.form.rests_on_chance}
    assert found == ON_CHANCE


def _fresh(folder: Path, name: str) -> Path:
    (folder / name).mkdir()
    return folder / name


def test_why_every_edge_is_classified_by_who_repeats_the_draws() -> None:
    """Names and flips of `--seed 42` come from 42 alone: undoing them gives the original graph, edge by edge."""
    club = nx.gnp_random_graph(60, 0.1, seed=2)
    made = sf.publish(sf.Policy.parse(GRAPH), data=club, seed=42)
    published = Graph.from_table(made.release.parts["edges"].table, 60)
    form = made.release.form
    assert isinstance(form, Edges)
    assert form.flip is not None
    nothing = Graph.from_codes(np.empty(0, np.int64), 60)
    for guess in range(50):
        chance = Randomness(guess)
        names, flips = chance.child("names").permutation(60), flip_edges_keeping_names(nothing, form.flip, chance)
        undone = Graph.from_codes(np.setxor1d(published.codes, flips.codes), 60).relabelled(np.argsort(names))
        if len(np.intersect1d(undone.codes, Graph.from_networkx(club).codes)) > 0.9 * club.number_of_edges():
            assert guess == 42
            break
    else:
        raise AssertionError("trying out fifty seeds did not undo the release")
    assert not made.certificate.holds


def test_the_command_says_it_loudly_and_takes_long_seeds(tmp_path: Path) -> None:
    (tmp_path / "edges.txt").write_text("\n".join(f"{a} {b}" for a, b in nx.gnp_random_graph(40, 0.2, seed=1).edges()))
    tree = GRAPH | {"data": {"kind": "graph", "source": "edges.txt"}}
    (tmp_path / "policy.yaml").write_text(json.dumps(tree))
    asked = ("publish", str(tmp_path / "policy.yaml"), "--out")
    short = run(*asked, str(tmp_path / "short"), "--seed", "42")
    assert short.returncode == 0
    assert MARK in short.stderr
    assert run("verify", str(tmp_path / "short")).returncode == 1
    for name, seed in (("decimal", str(2**127)), ("hex", "0x" + "0f" * 16), ("digits", "a0" * 16)):
        long = run(*asked, str(tmp_path / name), "--seed", seed)
        assert (long.returncode, MARK in long.stderr + long.stdout) == (0, False)
        assert run("verify", str(tmp_path / name)).returncode == 0
    assert run(*asked, str(tmp_path / "no"), "--seed", "forty-two").returncode == 2


READ = [
    ("1", True),
    ("0xff", True),
    ("f" * 31 + "g", None),
    ("00" * 16, True),
    ("0x" + "00" * 16, False),
    ("1" * 38, True),
]


@pytest.mark.parametrize(("text", "short"), [*READ, ("9" * 39, False), ("ab" * 16, False)])
def test_seeds_are_read_as_they_are_written(text: str, short: bool | None) -> None:
    if short is None:
        with pytest.raises(ValueError, match="invalid literal"):
            read_seed(text)
    else:
        assert is_guessable(read_seed(text)) is short
