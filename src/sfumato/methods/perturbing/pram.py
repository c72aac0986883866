"""`pram`: every category stays with a declared probability, and is drawn anew from the shares of its column otherwise.

The matrix P = keep · I + (1 − keep) · 1 t' has the column's own shares t as fixed point (t P = t): on average shares stay what they
were, without any correction (invariant post randomization). Tables of two columns do not; `sfumato recover` inverts P for them.
Paper: Gouweleeuw, Kooiman, Willenborg, de Wolf (1998).

Departures: the matrix is published, and with it the shares of the original; that is what it is for.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np
import pyarrow as pa
from pydantic import Field

from sfumato.forms.perturbed import PerturbedTable
from sfumato.methods.base import Task
from sfumato.methods.perturbing.base import Perturbing, texts


class PostRandomization(Perturbing):
    """Categories change by a published matrix that keeps their shares on average; nothing is promised."""

    name: ClassVar[str] = "pram"
    paper: ClassVar[str] = "Gouweleeuw, Kooiman, Willenborg, de Wolf 1998"

    keep: float = Field(default=0.8, gt=0, lt=1, description="probability that a value stays as it was for certain")

    def changed(self, task: Task) -> tuple[PerturbedTable, Mapping[str, pa.Array]]:
        names = self.changing(task.policy)
        written, shares = {}, {}
        for name in names:
            text, chance = task.data.text(name), task.randomness.child(name)
            share = text.counts() / max(len(text.codes), 1)
            drawn = np.searchsorted(np.cumsum(share)[:-1], chance.child("value").uniform(len(text.codes)), side="right")
            stays = chance.child("stay").uniform(len(text.codes)) < self.keep
            written[name] = texts(text.labels, np.where(stays, text.codes, drawn))
            shares[name] = dict(zip(text.labels, share.tolist(), strict=True))
        return PerturbedTable(how="pram", columns=names, keep=dict.fromkeys(names, self.keep), shares=shares), written
