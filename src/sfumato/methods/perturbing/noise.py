"""`noise`: numbers get normal noise whose covariance is a declared share of their own, so that correlations stay what they were.

With C the covariance of the columns and a the amount, what is published has covariance (1 + a) C and the same means, on average.
The covariance of the noise is declared, and `sfumato recover` takes it off.
Paper: Kim (1986).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np
import pyarrow as pa
from pydantic import Field

from sfumato.forms.perturbed import PerturbedTable
from sfumato.methods.aggregating.ground import values_of
from sfumato.methods.aggregating.microaggregation import behind_the_point
from sfumato.methods.base import Task
from sfumato.methods.perturbing.base import Perturbing, normals, require_numbers


class CorrelatedNoise(Perturbing):
    """Numbers get correlated noise of a published covariance; nothing is promised."""

    name: ClassVar[str] = "noise"
    paper: ClassVar[str] = "Kim 1986"

    amount: float = Field(default=0.1, gt=0, description="variance of the noise over that of the column")

    def changed(self, task: Task) -> tuple[PerturbedTable, Mapping[str, pa.Array]]:
        names = self.changing(task.policy)
        require_numbers(task.data, names)
        values = np.stack([values_of(task.data.text(name)) for name in names], axis=1)
        covariance = self.amount * np.atleast_2d(np.cov(values, rowvar=False, ddof=0))
        size, vectors = np.linalg.eigh(covariance)
        drawn = normals(task.randomness.child("noise"), values.size).reshape(values.shape)
        values = values + drawn @ (vectors * np.sqrt(np.maximum(size, 0.0))).T
        written = {}
        for place, name in enumerate(names):
            digits = behind_the_point(task.data.text(name)) + 1
            numbers = np.round(values[:, place], digits) + 0.0
            written[name] = pa.array([f"{value:.{digits}f}" for value in numbers.tolist()], pa.string())
        told = {name: {other: float(f"{covariance[i, j]:.9g}") for j, other in enumerate(names)} for i, name in enumerate(names)}
        return PerturbedTable(how="noise", columns=names, covariance=told), written
