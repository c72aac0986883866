"""`intersection`: an outsider puts all published tables together and looks for people with one hidden value left.

The target is a release folder, or any folder with ``table-1.csv``, ``table-1-sensitive.csv``, … and no manifest; then the rule to
attack must be given. How values are excluded stands in ``_intersecting.py``.

Paper: [versatile §1.3].
"""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, ClassVar

from pydantic import Field

from sfumato.attacks._intersecting import Compromised, intersect
from sfumato.attacks.base import Attack
from sfumato.data.table import Table
from sfumato.decomposition.privacy_rules import listed, split_arrow
from sfumato.decomposition.published_subtables import PublishedSubTables, read_tables
from sfumato.errors import PolicyError
from sfumato.io.files import read_file
from sfumato.policy.policy import Policy
from sfumato.policy.privacy import rules_of_claim
from sfumato.release.exhibit import Exhibit
from sfumato.release.folder import MANIFEST, POLICY, read_folder
from sfumato.release.plain_files import files_of


class IntersectionAttack(Attack):
    """Put all published tables together; report people for whom only one hidden value is left."""

    name: ClassVar[str] = "intersection"
    paper: ClassVar[str] = "versatile §1.3"

    target: str = Field(description="a release folder, or a folder of tables")
    rule: str = Field(default="", description="attack this rule, like 'hospital, race -> zipcode', instead of the policy's")
    show: bool = Field(default=False, description="list the compromised tuples, which are people's values")

    @classmethod
    def concerns(cls, exhibit: Exhibit) -> str:
        return (
            "any other release about these people that was not judged together with this one, as releases of one ledger are, "
            "can be intersected with it"
        )

    def run(self) -> dict[str, Any]:
        folder = Path(self.target)
        present = files_of(folder)  # nothing in it is read before it is known to hold plain files only
        exhibit = read_folder(folder) if MANIFEST in present else None
        policy = exhibit.policy if exhibit is not None else Policy.read(folder / POLICY) if POLICY in present else None
        tables = read_tables(
            exhibit.tables if exhibit is not None else _parts(present),
            (policy.sensitive[0] if policy and policy.sensitive else "value"),
        )
        rules = self._rules(policy)
        found = [intersect(tables.sheets(), given, hidden) for given, hidden in rules]
        return {
            "compromised": sum(len(each.tuples) for each in found),
            "exact": all(each.exact for each in found),
            "rules": {
                f"{listed(given)} -> {hidden}": self._figures(each, tables)
                for (given, hidden), each in zip(rules, found, strict=True)
            },
        }

    def _rules(self, policy: Policy | None) -> list[tuple[list[str], str]]:
        if self.rule:
            given, hide = split_arrow(self.rule.partition(":")[0])
            return [(sorted(given), hidden) for hidden in sorted(hide)]
        if policy is None:
            raise PolicyError("there is no policy to take the rules from", where=self.target, hint="give --rule 'a, b -> c'")
        rules = [each for claim in policy.claims for each in rules_of_claim(claim)]
        return [(sorted(each.given), hidden) for each in rules for hidden in sorted(each.hide)]

    def _figures(self, found: Compromised, tables: PublishedSubTables) -> dict[str, Any]:
        figures: dict[str, Any] = {"attacked": found.attacked, "compromised": len(found.tuples)}
        if self.show:
            names = (*found.given, found.hidden)
            figures["tuples"] = [
                [tables.labels[name][code] for name, code in zip(names, each, strict=True)] for each in found.tuples
            ]
        return figures


def _parts(present: Mapping[str, Path]) -> Mapping[str, Table]:
    """The tables of a folder that nobody certified."""
    return {path.stem: Table(read_file(path)) for name, path in present.items() if fnmatchcase(name, "table-*.csv")}
