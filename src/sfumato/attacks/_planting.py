"""Plant accounts in a graph before it is published, tied to each other and to victims so that both survive noise.

Paper
    [multitype §4.4.4] for robust victim ties (ρ1, ρ2), after Backstrom, Dwork and Kleinberg for the planted subgraph.

Notation
    k      accounts, on a path (the backbone) with every other pair tied by a coin.
    ρ1     at least so many accounts are tied to each victim.
    ρ2     any two victims differ in at least so many accounts, either way.

Invariants
    I1  Planted accounts share no neighbours except each other and the victims.
    I2  Nodes are renamed before anything is published; only the experiment knows where the accounts are.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.data.arrays import IntArray
from sfumato.data.edge_channel import EdgeChannel
from sfumato.data.flipping import reflipped
from sfumato.data.graph import Graph
from sfumato.errors import Infeasible
from sfumato.randomness import Randomness


@dataclass(frozen=True, eq=False)
class Planted:
    """A published graph, what the adversary knows, and the truth the experiment keeps to judge by."""

    published: Graph
    flip: EdgeChannel
    ties: NDArray[np.bool_]
    degrees: IntArray
    victims: NDArray[np.bool_]
    true_accounts: IntArray
    true_victims: IntArray

    @property
    def accounts(self) -> int:
        return len(self.degrees)


def plant_and_publish(
    graph: Graph, flip: EdgeChannel, randomness: Randomness, *, accounts: int, victims: int, rho1: int = 3, rho2: int = 1
) -> Planted:
    """Plant, rename, flip: what an adversary faces, with the truth beside it."""
    return planted_worlds(graph, flip, randomness, accounts=accounts, victims=victims, rho1=rho1, rho2=rho2)[0]


def planted_worlds(
    graph: Graph,
    flip: EdgeChannel,
    randomness: Randomness,
    *,
    accounts: int,
    victims: int,
    rho1: int = 3,
    rho2: int = 1,
    releases: int = 1,
) -> list[Planted]:
    """What an adversary faces who has several publications.

    Of several publications the adversary is told who is who in all of them, and looks at the ties that stand in any of them and at
    those that stand in all: each is a graph, flipped by a law of its own.
    """
    choice = randomness.child("adversary").generator()
    ties = backbone_ties(accounts, choice)
    links = victim_links(accounts, victims, rho1, rho2, choice)
    people = choice.choice(graph.nodes, size=victims, replace=False)
    inside, outside = np.nonzero(np.triu(ties)), np.nonzero(links)
    source = np.concatenate([inside[0], outside[1]]) + graph.nodes
    target = np.concatenate([inside[1] + graph.nodes, people[outside[0]]])
    whole = graph.joined(accounts, source, target)  # I1
    names = randomness.child("names").permutation(whole.nodes)  # I2
    renamed, degrees = whole.relabelled(names), whole.degrees[graph.nodes :]
    drawn = [reflipped(renamed, flip, randomness if not r else randomness.child(f"again {r}")) for r in range(releases)]
    beside = ties, degrees, links, names[graph.nodes :], names[people]
    return [Planted(seen, law, *beside) for seen, law in _seen(drawn, flip)]


def _seen(drawn: list[Graph], flip: EdgeChannel) -> list[tuple[Graph, EdgeChannel]]:
    """The one graph, or what several publications of it show in any and in all of them, with the law of each."""
    if len(drawn) == 1:
        return [(drawn[0], flip)]
    often, nodes = len(drawn), drawn[0].nodes
    codes, counts = np.unique(np.concatenate([graph.codes for graph in drawn]), return_counts=True)
    either = EdgeChannel(flip.delete**often, 1 - (1 - flip.add) ** often)
    every = EdgeChannel(1 - (1 - flip.delete) ** often, flip.add**often)
    return [(Graph.from_codes(codes, nodes), either), (Graph.from_codes(codes[counts == often], nodes), every)]


def backbone_ties(accounts: int, choice: np.random.Generator) -> NDArray[np.bool_]:
    """A path through all accounts in order, and each other pair tied with probability one half."""
    ties = np.triu(choice.random((accounts, accounts)) < 0.5, 2)
    ties |= np.eye(accounts, k=1, dtype=bool)
    return np.asarray(ties | ties.T)


def victim_links(
    accounts: int, victims: int, rho1: int, rho2: int, choice: np.random.Generator, tries: int = 2000
) -> NDArray[np.bool_]:
    """One row of accounts for each victim: ρ1 of them, differing from every other row in at least ρ2 accounts."""
    links = np.zeros((victims, accounts), dtype=bool)
    for victim in range(victims):
        for _ in range(tries):
            row = np.zeros(accounts, dtype=bool)
            row[choice.choice(accounts, size=min(rho1, accounts), replace=False)] = True
            if victim == 0 or int((row & ~links[:victim]).sum(axis=1).min()) >= rho2:
                links[victim] = row
                break
        else:
            raise Infeasible("too many victims for so few accounts", hint="plant more accounts or lower rho2")
    return links
