"""What a recipient learns from a release folder that was changed by chance, whatever its form; no original needed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sfumato.errors import ReleaseError
from sfumato.estimation.recovered_graph import recover_graph
from sfumato.estimation.recovered_table import recover_table
from sfumato.forms.perturbed import PerturbedTable
from sfumato.release.folder import read_folder


def recover_folder(folder: str | Path, confidence: float = 0.95, patterns: Sequence[str] = ()) -> dict[str, Any]:
    """Figures of the original and notes, as one JSON document; refused where the form says that nothing can be undone."""
    exhibit = read_folder(Path(folder))
    if not exhibit.form.recoverable:
        what = "there is nothing to recover: the manifest names no chances by which ties or values were changed"
        raise ReleaseError(what, where=str(folder), hint="see 'measure' and 'query' for other forms")
    if isinstance(exhibit.form, PerturbedTable):
        return recover_table(exhibit)
    return recover_graph(exhibit, confidence, patterns)
