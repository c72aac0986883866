"""Variants of a policy: other levels, another method, fewer columns, other limits of generalization.

Notation
    level     a parameter of a requirement that measures protection (`Model.levels`), under its name: k, l, t …

>>> policy = Policy.parse({"version": 1, "columns": {"age": "quasi-identifier"},
...     "protect": [{"k-anonymity": {"k": 5}}]})
>>> [str(each) for each in variants(policy, Sweep({"k": (3, 5)}, ("mondrian", "clustering")))]
['k = 3, mondrian', 'k = 5, mondrian', 'k = 3, clustering', 'k = 5, clustering']
>>> str(variants(policy, Sweep({"k": (3, 10)}))[0])
'k = 5, refined'
>>> variants(policy, Sweep({"k": (3,)}, ("mondrian",)))[0].policy(policy).claims[0].model.k
3
"""

from __future__ import annotations

import copy
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from sfumato.core.errors import PolicyError
from sfumato.core.registry import nearest
from sfumato.data.text_values import parse_number
from sfumato.kinds.tables.form import Recoded
from sfumato.policy.policy import Policy
from sfumato.policy.requirements import short_forms
from sfumato.policy.yaml_document import Document
from sfumato.release.method import Method
from sfumato.workflow.plan import able_methods, plan

Level = float
_USUAL: Mapping[str, tuple[float, ...]] = {
    "k": (2, 3, 5, 10, 20),
    "l": (2, 3, 4),
    "p": (2, 3, 4),
    "t": (0.1, 0.2, 0.3, 0.5),
}
_WORTH = 5
"""Methods that say less of themselves are tried when they are named."""
_UNREMEMBERED = ("ledger", "key")
"""Exploring enters nothing into a ledger."""


@dataclass(frozen=True, slots=True)
class Sweep:
    """What `explore` varies.

    Without anything named, the first level takes its usual values with all suitable methods.

    Examples
    --------
    >>> import sfumato as sf
    >>> sf.Sweep({"k": (3, 5, 10)}, methods=("mondrian", "clustering")).methods
    ('mondrian', 'clustering')
    """

    levels: Mapping[str, Sequence[Level]] = field(default_factory=dict)
    methods: Sequence[str] = ()
    without: Sequence[Sequence[str]] = ((),)
    """Sets of columns that are left out, one release for each set; the empty set leaves out nothing."""
    depths: Mapping[str, Sequence[int]] = field(default_factory=dict)
    """Per quasi-identifier, how many levels of its hierarchy a value may rise."""


@dataclass(frozen=True, slots=True)
class Variant:
    """One policy to be tried."""

    levels: Mapping[str, Level]
    method: str
    without: tuple[str, ...] = ()
    depths: Mapping[str, int] = field(default_factory=dict)

    def __str__(self) -> str:
        parts = [level_text(self.levels), self.method]
        parts += [f"without {', '.join(self.without)}"] if self.without else []
        parts += [f"{name} up to level {depth}" for name, depth in self.depths.items()]
        return ", ".join(part for part in parts if part)

    def tree(self, policy: Policy) -> dict[str, Any]:
        """The policy as it would be written."""
        tree = copy.deepcopy({key: value for key, value in policy.document.tree.items() if key not in _UNREMEMBERED})
        tree["protect"] = _without_repeats(
            policy, [_leveled(entry, self.levels) for entry in tree.get("protect") or []]
        )
        same = policy.method is not None and policy.method.name == self.method
        tree["method"] = {self.method: dict(policy.method.parameters) if same and policy.method else {}}
        columns = dict(tree.get("columns") or {})
        for name in self.without:
            columns[name] = _entry(columns[name]) | {"publish": False}
        for name, depth in self.depths.items():
            columns[name] = _entry(columns[name]) | {"boundary": {"level": depth}}
        tree["columns"] = columns
        return tree

    def policy(self, policy: Policy) -> Policy:
        """The policy itself; paths start where those of the original do."""
        return Policy.from_document(Document(self.tree(policy), policy.document.name, policy.base))


def level_text(levels: Mapping[str, Level]) -> str:
    """``k = 5, l = 2``."""
    return ", ".join(f"{name} = {value:g}" for name, value in levels.items())


def levels_of(policy: Policy) -> dict[str, Level]:
    """The levels that a policy asks for; of several requirements with one parameter the first."""
    found: dict[str, Level] = {}
    for claim in policy.claims:
        for name in claim.model.levels:
            found.setdefault(name, float(getattr(claim.model, name)))
    return found


def variants(policy: Policy, sweep: Sweep) -> list[Variant]:
    """Every variant of a sweep, method by method; first what the policy itself would publish.

    The policy's own method and levels are added where the sweep names no methods, so that the best point is never worse
    than the release that the policy makes.
    """
    asked = levels_of(policy)
    _require_known(policy, sweep, asked)
    grid = {name: tuple(sweep.levels.get(name, (value,))) for name, value in asked.items()}
    if not sweep.levels and asked:
        first = next(iter(asked))
        grid[first] = tuple(sorted({*_USUAL.get(first, ()), asked[first]}))
    levels = [dict(zip(grid, chosen, strict=True)) for chosen in itertools.product(*grid.values())]
    depths = [dict(zip(sweep.depths, chosen, strict=True)) for chosen in itertools.product(*sweep.depths.values())]
    methods = tuple(sweep.methods) or usual_methods(policy)
    rest = itertools.product(methods, [tuple(names) for names in sweep.without], depths)
    found = [Variant(level, method, without, depth) for method, without, depth in rest for level in levels]
    own = Variant(dict(asked), own_method(policy))
    return [own, *(each for each in found if each != own)] if own in found or not sweep.methods else found


def own_method(policy: Policy) -> str:
    """The method that the policy names, or that the planner takes for it."""
    return plan(policy, records=policy.data.size()).method.name


def is_own(policy: Policy, variant: Variant) -> bool:
    """Whether a variant is what the policy itself would publish."""
    return variant == Variant(levels_of(policy), own_method(policy))


def usual_methods(policy: Policy) -> tuple[str, ...]:
    """Able methods that publish a recoded table and want to be a default, the one that would be it last: it takes
    longest."""
    able = able_methods(policy)
    recoding = [method for method in able if issubclass(method.form, Recoded) and _wanted(method) >= _WORTH]
    ranked = sorted(recoding or able, key=_wanted, reverse=True)
    if not ranked:
        raise PolicyError(
            "no method can serve this policy", where=policy.document.where("protect"), hint="run 'sfumato check' on it"
        )
    return tuple(method.name for method in (*ranked[1:], ranked[0]))


def _wanted(method: Method) -> int:
    return max(method.preference(records)[0] for records in (1_000, 1 << 30))


def _require_known(policy: Policy, sweep: Sweep, asked: Mapping[str, Level]) -> None:
    if not asked:
        hint = "state at least one claim under 'protect'"
        raise PolicyError("there is no level to vary", where=policy.document.where("protect"), hint=hint)
    for name in sweep.levels:
        if name not in asked:
            raise PolicyError(f"no claim has the level '{name}'", where="levels", hint=nearest(name, list(asked)))
    for name in (*(name for names in sweep.without for name in names), *sweep.depths):
        if name not in policy.columns:
            raise PolicyError(
                f"the policy has no column '{name}'", where="columns", hint=nearest(name, list(policy.columns))
            )


def _entry(entry: Any) -> dict[str, Any]:
    return {"role": entry} if isinstance(entry, str) else dict(entry)


def _without_repeats(policy: Policy, protect: list[Any]) -> list[Any]:
    """The requirements without those that a common level makes equal."""
    claims = Policy.from_document(replace(policy.document, tree={**policy.document.tree, "protect": protect})).claims
    return [
        entry
        for place, entry in enumerate(protect)
        if not any(claims[place].same_as(earlier) for earlier in claims[:place])
    ]


def _leveled(entry: Any, levels: Mapping[str, Level]) -> Any:
    """A requirement as it was written, with other levels."""
    if isinstance(entry, str):
        return _leveled_line(entry, levels)
    if "by" in entry:
        return dict(entry) | {"by": _leveled(entry["by"], levels)}
    ((model, parameters),) = entry.items()
    given = dict(parameters or {})
    return {model: given | {name: _plain(levels[name]) for name in given if name in levels}}


def _leveled_line(line: str, levels: Mapping[str, Level]) -> str:
    """``age -> illness : 3-diversity`` with another number."""
    columns, _, claim = line.rpartition(":")
    level, _, word = claim.strip().partition("-")
    parameter = short_forms()[word.strip()][1].parameter if word.strip() in short_forms() else ""
    if parameter not in levels or parse_number(level) is None:
        return line
    return f"{columns.rstrip()} : {_plain(levels[parameter])}-{word}"


def _plain(value: float) -> int | float:
    return int(value) if float(value).is_integer() else float(value)
