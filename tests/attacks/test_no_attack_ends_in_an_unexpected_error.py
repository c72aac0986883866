"""Whatever an attack is given, it says what it got or why it cannot be played, in our own words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import networkx as nx
import pytest

import sfumato as sf
from sfumato.core.registry import catalogue
from sfumato.kinds.graphs.planted_account_attacks import PlantedAttack
from sfumato.release.attack import Attack, ReleaseAttack, Threat
from tests.trust.every_form import FORMS, columns, release_of, write

ATTACKS = {name: cls for name, cls in catalogue("attacks", Threat).items() if issubclass(cls, Attack)}
PLANTED = {name: cls for name, cls in ATTACKS.items() if issubclass(cls, PlantedAttack)}
ON_RELEASES = {name: cls for name, cls in ATTACKS.items() if issubclass(cls, ReleaseAttack)}
GRAPHS: dict[str, Any] = {
    "two people": nx.path_graph(2),
    "a star": nx.star_graph(4),
    "five pairs": nx.from_edgelist([(2 * place, 2 * place + 1) for place in range(5)]),
    "forty people": nx.gnp_random_graph(40, 0.2, seed=1),
}


@pytest.mark.parametrize("graph", GRAPHS)
@pytest.mark.parametrize("name", PLANTED)
def test_few_people_are_all_victims(name: str, graph: str, tmp_path: Path) -> None:
    """M3: a hundred victims are asked for by default, and forty people ended in an unexpected error."""
    file = tmp_path / "ties.txt"
    file.write_text("\n".join(f"{one} {other}" for one, other in GRAPHS[graph].edges()) + "\n")
    found = PLANTED[name](target=str(file), trials=2, seed=4).run()
    assert found["victims"] == GRAPHS[graph].number_of_nodes()
    assert found["trials"] == 2


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", ON_RELEASES)
def test_a_folder_of_any_form_is_played_or_refused(name: str, form: str, tmp_path: Path) -> None:
    """M4: with an original that fits, or with a table that is none of the folder's."""
    folder, original = release_of(form)
    file = tmp_path / "original.csv"
    write(file, [dict(zip(columns(), row, strict=True)) for row in zip(*columns().values(), strict=True)])
    given = original if isinstance(original, str) else str(file)
    for settings in ({"original": given}, {"original": ""}):
        try:
            ON_RELEASES[name](target=str(folder), **settings).run()
        except sf.SfumatoError as error:
            assert error.what


def test_degree_signatures_read_graphs(tmp_path: Path) -> None:
    cls = ON_RELEASES["degree-signatures"]
    with pytest.raises(sf.PolicyError, match="this adversary reads a graph, not a anatomy"):
        cls(target=str(release_of("anatomy")[0])).run()
    assert cls(target=str(release_of("graph")[0])).run()["people"] == 80
