"""Plain twins of the kernels below the sequential search: double loops, dictionaries, and reachability by walking."""

from __future__ import annotations

from collections import defaultdict


def plain_meets(a, b):
    return all(lo < other_hi and other_lo < hi for (lo, hi), (other_lo, other_hi) in zip(a, b, strict=True))


def plain_inside(a, b):
    return all(other_lo <= lo and hi <= other_hi for (lo, hi), (other_lo, other_hi) in zip(a, b, strict=True))


def plain_box_pairs(boxes, others, contain):
    """Per box the others that meet it, or contain it."""
    fits = plain_inside if contain else plain_meets
    return [{place for place, other in enumerate(others) if fits(box, other)} for box in boxes]


def plain_kill_mismatches(edges, flow, alive):
    """The living edges that are true for some assignment: a record could change along a cycle through the edge.

    Records may leave an edge of the true flow and enter any living one, so from the right end of an edge there must be
    a way back to its left end: against the flow, or along living edges."""
    onward = defaultdict(set)
    for (left, right), flows, lives in zip(edges, flow, alive, strict=True):
        if flows:
            onward["right", right].add(("left", left))
            onward["left", left].add(("right", right))
        elif lives:
            onward["left", left].add(("right", right))

    def reaches(begin, end):
        seen, waiting = {begin}, [begin]
        while waiting:
            for node in onward[waiting.pop()] - seen:
                seen.add(node)
                waiting.append(node)
        return end in seen

    return [
        lives and (flows or reaches(("right", right), ("left", left)))
        for (left, right), flows, lives in zip(edges, flow, alive, strict=True)
    ]


def plain_place_units(known, wanted, count):
    """(numbers, how many there are): known keys keep theirs, unknown ones get the next."""
    numbers = []
    for key in wanted:
        if key not in known:
            known[key] = count
            count += 1
        numbers.append(known[key])
    return numbers, count


def plain_number_edges(found, hist, first):
    """Per earlier release: the left ends of the edges in the order of their numbers, and the number of each clique's
    edge."""
    lefts, numbers = [], []
    for r, begin in enumerate(first):
        ends = list(dict.fromkeys(hist[h][r] for h in found))
        lefts.append(ends)
        numbers.append([begin + ends.index(hist[h][r]) for h in found])
    return lefts, numbers


def plain_settle(cliques, true):
    """The cliques that survive: all edges between two releases are matches of the true flow, until nothing dies any
    more.

    A clique is a tuple of nodes, one per release; `true` are the cliques of the records.
    """
    alive = set(cliques)
    while True:
        before = len(alive)
        releases = len(next(iter(alive), ()))
        for r in range(releases):
            for q in range(r + 1, releases):
                edges = sorted({(clique[r], clique[q]) for clique in alive})
                flow = {(clique[r], clique[q]) for clique in true}
                lives = plain_kill_mismatches(edges, [edge in flow for edge in edges], [True] * len(edges))
                matches = {edge for edge, living in zip(edges, lives, strict=True) if living}
                alive = {clique for clique in alive if (clique[r], clique[q]) in matches}
        if len(alive) == before:
            return alive


def plain_containing(holders, hist):
    """tuple → {history clique: weight}: the cliques all of whose nodes have rows that contain the tuple, rows
    multiplied."""
    found = []
    for rows in holders:
        mine = {}
        for number, clique in enumerate(hist):
            weight = 1.0
            for r, node in enumerate(clique):
                weight *= rows[r].get(node, 0.0)
            if weight > 0:
                mine[number] = weight
        found.append(mine)
    return found
