"""Promises: claims as sentences, rules that must stay true, what `check` says; and the policy itself, which is all of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from sfumato.errors import PolicyError
from sfumato.methods.base import Method
from sfumato.models.base import Model
from sfumato.registry import catalogue
from sfumato.studio.drafting import REMOVE
from sfumato.studio.visit import Page, Visit, question
from sfumato.studio.work.planning import check


class PromisesPage(Page):
    """What must stay private and what must stay true."""

    name: ClassVar[str] = "promises"
    title: ClassVar[str] = "Promises"
    order: ClassVar[int] = 30

    def model(self, visit: Visit) -> dict[str, Any]:
        tree = {} if visit.document is None else visit.document.tree
        columns = {name: _role(entry) for name, entry in (tree.get("columns") or {}).items()}
        utility = tree.get("utility") if isinstance(tree.get("utility"), dict) else {}
        job = visit.work(check, "check", visit.stamp(), policy=str(visit.file))
        written = {key: tree.get(key) or [] for key in ("keep", "knows", "accept")}
        return {
            "claims": [{"at": at, "sentence": sentence(entry)} for at, entry in enumerate(tree.get("protect") or [])],
            "columns": columns,
            "models": _models(),
            "methods": sorted(catalogue("methods", Method)),
            "method": tree.get("method"),
            "suppress": (utility or {}).get("suppress_at_most", ""),
            "yaml": visit.text,
            "seen": visit.digest,
            "job": question(job),
            **{key: [str(line) for line in value] if isinstance(value, list) else [] for key, value in written.items()},
        }

    def act(self, visit: Visit, form: Mapping[str, str], several: Mapping[str, list[str]]) -> str:
        """Add or remove a claim or a rule, set the limit or the method, or take the text as it was edited."""
        seen, what = form.get("seen", ""), form.get("act", "")
        if what == "yaml":
            visit.save(form.get("yaml", "").replace("\r\n", "\n"), seen)
        elif what == "claim":
            visit.edit(seen, (("protect", _END), claim_of(form, several)))
        elif what == "remove":
            visit.edit(seen, ((_list(form), int(form["at"])), REMOVE))
        elif what == "line":
            visit.edit(seen, ((_list(form), _END), form.get("line", "").strip()))
        elif what == "suppress":
            visit.edit(seen, (("utility", "suppress_at_most"), form.get("value", "").strip() or REMOVE))
        elif what == "method":
            visit.edit(seen, (("method",), {form["value"]: {}} if form.get("value") else REMOVE))
        else:
            raise PolicyError("nothing is known of this change", where="promises", hint="load the page again")
        return ""


_END = 1 << 30
"""Beyond every list: appended."""
_LISTS = ("protect", "keep", "knows", "accept")


def _list(form: Mapping[str, str]) -> str:
    if form.get("list") not in _LISTS:
        raise PolicyError("no such list in a policy", where="promises", hint=f"one of {', '.join(_LISTS)}")
    return form["list"]


def claim_of(form: Mapping[str, str], several: Mapping[str, list[str]]) -> Any:
    """The entry of `protect` that a form describes: a model with its levels, or a rule between columns."""
    name, given, hide = form.get("model", ""), several.get("given", []), several.get("hide", [])
    if name not in catalogue("models", Model):
        raise PolicyError(f"no model '{name}'", where="protect", hint="choose one from the list")
    levels = {}
    for part in filter(None, (part.strip() for part in form.get("levels", "").split(","))):
        key, _, value = part.partition("=")
        levels[key.strip()] = value.strip()
    claim: dict[str, Any] = {name: levels}
    if form.get("rule"):
        return f"{', '.join(given)} -> {', '.join(hide)} : {levels.get('l', levels.get('k', '2'))}-diversity"
    if given or hide:
        claim = {
            **({"given": given} if given else {}),
            **({"hide": hide[0] if len(hide) == 1 else hide} if hide else {}),
            "by": claim,
        }
    return claim


def sentence(entry: Any) -> str:
    """A claim as somebody would say it.

    >>> sentence({"k-anonymity": {"k": "5"}}), sentence({"given": ["age"], "hide": "pay", "by": {"l-diversity": {"l": "2"}}})
    ('whoever knows the quasi-identifiers: k-anonymity with k = 5', 'whoever knows age: l-diversity of pay with l = 2')
    """
    if not isinstance(entry, dict):
        return str(entry)
    by = entry.get("by", entry)
    given = entry.get("given", "the quasi-identifiers") if "by" in entry else "the quasi-identifiers"
    hide = f" of {_joined(entry['hide'])}" if "hide" in entry else ""
    name, levels = next(iter(by.items())) if isinstance(by, dict) and by else (str(by), {})
    wanted = ", ".join(f"{key} = {value}" for key, value in levels.items()) if isinstance(levels, dict) else str(levels or "")
    return f"whoever knows {_joined(given)}: {name}{hide}" + (f" with {wanted}" if wanted else "")


def _joined(names: Any) -> str:
    return ", ".join(map(str, names)) if isinstance(names, list) else str(names)


def _models() -> list[dict[str, Any]]:
    """The models of the catalogue with their levels and what they mean."""
    return [
        {
            "name": name,
            "meaning": (cls.__doc__ or "").splitlines()[0],
            "levels": ", ".join(
                f"{key}={field.default if not field.is_required() else _EXAMPLE.get(key, '2')}"
                for key, field in cls.model_fields.items()
            ),
        }
        for name, cls in sorted(catalogue("models", Model).items())
    ]


_EXAMPLE = {"k": "5", "l": "2", "t": "0.2", "alpha": "0.5", "p": "2"}


def _role(entry: Any) -> str:
    return str(entry.get("role", "")) if isinstance(entry, dict) else str(entry)
