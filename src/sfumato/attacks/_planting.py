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
    choice = randomness.child("adversary").generator()
    ties = backbone_ties(accounts, choice)
    links = victim_links(accounts, victims, rho1, rho2, choice)
    people = choice.choice(graph.nodes, size=victims, replace=False)
    inside, outside = np.nonzero(np.triu(ties)), np.nonzero(links)
    source = np.concatenate([inside[0], outside[1]]) + graph.nodes
    target = np.concatenate([inside[1] + graph.nodes, people[outside[0]]])
    whole = graph.joined(accounts, source, target)  # I1
    names = randomness.child("names").permutation(whole.nodes)  # I2
    published = reflipped(whole.relabelled(names), flip, randomness)
    degrees = whole.degrees[graph.nodes :]
    return Planted(published, flip, ties, degrees, links, names[graph.nodes :], names[people])


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
