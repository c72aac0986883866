"""A database for testing: it makes no promise about what outsiders believe, so no model can be claimed; its checks judge it."""

from __future__ import annotations

from typing import ClassVar

from sfumato.audit.base import Reading
from sfumato.data.linkage import Linkage
from sfumato.errors import DataError
from sfumato.forms.database import DatabaseForm
from sfumato.policy.claims import Claim
from sfumato.release.exhibit import Exhibit
from sfumato.release.form import Form


class DatabaseReading(Reading):
    """All tables of a database."""

    name: ClassVar[str] = "database"
    form: ClassVar[type[Form]] = DatabaseForm

    def read(self, exhibit: Exhibit, claim: Claim) -> Linkage:
        raise DataError(f"{claim} cannot be judged on a database", hint="publish its tables one by one")
