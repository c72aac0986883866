"""Plain twins of the kernels that order and match records: every change is judged by the whole length, cost or
graph."""

from __future__ import annotations

import itertools

import numpy as np

from sfumato.core.kernels.chacha import plain_below
from sfumato.kinds.baskets.methods.kernels.rings import plain_cost


def plain_length(far, path):
    return sum(int(far[a, b]) for a, b in itertools.pairwise(path))


def plain_shorten(far, path):
    """Reverse stretches and move blocks of up to three, first come first served, until the whole path gets no
    shorter."""
    while True:
        before = plain_length(far, path)
        for i in range(len(path) - 3):
            for j in range(i + 2, len(path) - 1):
                turned = [*path[: i + 1], *path[i + 1 : j + 1][::-1], *path[j + 1 :]]
                path = min(path, turned, key=lambda way: plain_length(far, way))
        for block in (1, 2, 3):
            for i in range(1, len(path) - block):
                moved, rest = path[i : i + block], path[:i] + path[i + block :]
                gaps = [g for g in range(1, len(rest)) if g != i]
                trials = [[*rest[:g], *way, *rest[g:]] for g in gaps for way in (moved, moved[::-1])]
                path = min([path, *trials], key=lambda way: plain_length(far, way))
        if plain_length(far, path) == before:
            return path


def plain_relocate(far, seq, k, lo, hi, block, active):
    """(sequence, records to look at again, moves): each block goes where the whole sequence costs least, ends apart."""
    again, moves, p = set(), 0, lo
    while p <= hi - block:
        if not active & set(seq[p : p + block]):
            p += 1
            continue
        moved, rest = seq[p : p + block], seq[:p] + seq[p + block :]
        ways = [moved] if block == 1 else [moved, moved[::-1]]
        trials = [([*rest[:g], *way, *rest[g:]], g) for way in ways for g in range(lo, hi - block + 1)]
        best, where = min(trials, key=lambda trial: plain_cost(far, np.array(trial[0]), k))
        if plain_cost(far, np.array(best), k) >= plain_cost(far, np.array(seq), k):
            p += 1
            continue
        moves += 1
        again |= set(seq[max(lo, p - k) : min(hi, p + block + k)])
        seq = best
        again |= set(seq[max(lo, where - k) : min(hi, where + block + k)])
        p += where <= p
    return seq, again, moves


def plain_reverse(far, seq, k, lo, hi, close):
    """(sequence, moves): stretches are turned round that bring two records side by side, when the whole costs less."""
    moves = 0
    for a in range(len(far)):
        for b, side in itertools.product(close[a].tolist(), (0, 1)):
            p, q = sorted((seq.index(a), seq.index(b)))
            first, last = (p + 1, q) if side == 0 else (p, q - 1)
            if first < lo or last >= hi or last <= first:
                continue
            turned = [*seq[:first], *seq[first : last + 1][::-1], *seq[last + 1 :]]
            if plain_cost(far, np.array(turned), k) < plain_cost(far, np.array(seq), k):
                seq = turned
                moves += 1
    return seq, moves


def plain_walk_round(rows, starts, words, backtracking):
    """One round of closed (or backtracking) walks; `rows` lose the matched edges. Slots are chosen as the kernel
    chooses them."""
    degree, owner, matched = len(rows[0]), list(range(len(rows))), set()
    for begin in starts:
        if begin in matched:
            continue
        free, seen, onward, trail, v = {}, set(), {}, [begin], None
        while v != begin:
            u = trail[-1]
            free.setdefault(u, degree - (u in matched))
            fresh = [slot for slot in range(free[u]) if rows[u][slot] not in seen]
            if not fresh and backtracking:
                trail.pop()
                continue
            slot = fresh[plain_below(words, len(fresh))] if fresh else plain_below(words, free[u])
            free[u] -= 1
            v = rows[u][slot]
            rows[u][slot], rows[u][free[u]] = rows[u][free[u]], rows[u][slot]
            onward[u] = v
            seen.add(v)
            trail.append(owner[v])
        u, v = begin, None
        while v != begin:
            v = onward[u]
            slot = rows[u].index(v)
            rows[u][slot], rows[u][-1] = rows[u][-1], rows[u][slot]
            matched.add(u)
            u, owner[v] = owner[v], u
    for row in rows:
        row.pop()
    return owner


def plain_greedy_round(sets, labels, past, begins):
    """[multitype Algorithm 1 with `greedyPick`] on sets: owner of every place, None when a walk is stuck."""
    n, owner, done = len(labels), list(range(len(labels))), set()
    for begin in begins:
        if begin in done:
            continue
        tried, seen, onward, u, v = set(), set(), {}, begin, None
        while v != begin:
            banned = set(past[u]) | {x for x in range(n) if labels[x] in {labels[m] for m in past[u]}}
            nearest = []
            for j in range(n // 2 + 2):
                both = [x for x in ((u + j) % n, (u - j) % n) if x not in banned and (u, x) not in tried]
                if both:
                    nearest.append(min(both, key=lambda x: len(sets[u] ^ sets[x])))
            fresh = [x for x in nearest if x not in seen]
            if not nearest:
                return None
            v = fresh[0] if fresh else nearest[0]
            tried.add((u, v))
            onward[u] = v
            seen.add(v)
            u = owner[v]
        u, v = begin, None
        while v != begin:
            v = onward[u]
            done.add(u)
            u, owner[v] = owner[v], u
    return owner
