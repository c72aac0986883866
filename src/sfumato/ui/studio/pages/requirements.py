"""Promises: claims as sentences, rules on a picture of columns, what must stay true, what `check` says; and the policy
itself.

Both sides of the page are the same file: a form edits the text, and the text, once it can be read, is what the forms
show."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, ClassVar, get_args

from sfumato.core.errors import PolicyError
from sfumato.core.registry import catalogue
from sfumato.core.wording import summary_of
from sfumato.models.base import Model
from sfumato.policy.requirements import read_requirements, short_forms
from sfumato.policy.yaml_document import Document
from sfumato.release.method import Method
from sfumato.ui.studio.page import Page, Visit, question
from sfumato.ui.studio.policy_editing import REMOVE, names_in, person_entry, person_shown, switched, switches
from sfumato.ui.studio.work.planning import check, rules

RULES = "looking for rules"
_END = 1 << 30
"""Beyond every list: appended."""
_LISTS = ("protect", "keep", "knows", "accept")
_EXAMPLE = {
    "k": "5",
    "l": "2",
    "t": "0.2",
    "alpha": "0.5",
    "p": "2",
    "m": "2",
    "planted": "20",
    "epsilon": "1",
    "delta": "0.00001",
}
_HOLE = re.compile(r"\{(\w+)\}")


class PromisesPage(Page):
    """What must stay private and what must stay true."""

    name: ClassVar[str] = "promises"
    title: ClassVar[str] = "What do you promise to people?"
    order: ClassVar[int] = 30
    step: ClassVar[int] = 3

    def model(self, visit: Visit) -> dict[str, Any]:
        tree, document = visit.tree, visit.document
        utility = tree.get("utility") if isinstance(tree.get("utility"), Mapping) else {}
        job, looked = (
            visit.work(check, "check", visit.stamp(), policy=str(visit.file)),
            visit.desk.latest(visit.subject, RULES),
        )
        columns, lines = roles_of(tree), {} if document is None else document.lines
        claims = [claim_shown(entry, at, columns, lines) for at, entry in enumerate(_listed(tree, "protect"))]
        kept = switches(visit.text) if document is not None else []
        return {
            "kind": str(visit.data.get("kind", "table")),
            "claims": claims,
            "recipes": [recipe | {"now": _follows(tree, recipe)} for recipe in RECIPES],
            "replaces": any(role == "replaced" for role in columns.values()),
            "columns": columns,
            "models": models_for(str(visit.data.get("kind", "table"))),
            "words": sorted(short_forms()),
            "methods": sorted(
                name
                for name, cls in catalogue("methods", Method).items()
                if visit.data.get("kind", "table") in cls.kinds
            ),
            "method": tree.get("method"),
            "person": person_shown(tree, visit.data, columns, lines.get(("person",), 0)),
            "suppress": (utility or {}).get("suppress_at_most", ""),
            "keep": [each.to_json() for each in kept],
            "knows": [str(line) for line in _listed(tree, "knows")],
            "accept": [_accepted(line) for line in _listed(tree, "accept")],
            "rules": None if looked is None else question(looked),
            "lines": {".".join(map(str, path)): line for path, line in lines.items() if len(path) <= 2},
            "yaml": visit.text,
            "seen": visit.digest,
            "job": question(job),
        }

    def act(self, visit: Visit, form: Mapping[str, str], several: Mapping[str, list[str]]) -> str:
        """Add or remove a claim or a rule, say whose rows they are, set limit or method, or take the text as it was
        edited."""
        seen, what = form.get("seen", ""), form.get("act", "")
        if what == "yaml":
            visit.save(form.get("yaml", "").replace("\r\n", "\n"), seen)
        elif what == "level":
            self._set_level(visit, form)
        elif what == "recipe":
            self._take_recipe(visit, form)
        elif what in ("claim", "usual", "rule"):
            made = {"claim": claims_of, "usual": usual_of, "rule": rule_of}[what](form, several)
            made = [entry for entry in made if _has_object(entry, roles_of(visit.tree))]
            if not made:
                raise PolicyError("no column is sensitive", where="protect", hint="mark what others must not learn")
            _require_new(made, visit.tree)
            visit.edit(seen, *((("protect", _END), claim) for claim in made))
        elif what == "accept":
            identifier, reason = form.get("line", ""), form.get("reason", "").strip()
            visit.edit(seen, (("accept", _END), {identifier: reason} if reason else identifier))
        elif what == "remove":
            visit.edit(seen, ((_list(form), int(form["at"])), REMOVE))
        elif what == "switch":
            visit.save(switched(visit.text, form.get("rule", ""), form.get("on") == "1"), seen)
        elif what == "look":
            visit.desk.start(rules, RULES, visit.subject, policy=str(visit.file))
        elif what == "line":
            visit.edit(seen, ((_list(form), _END), form.get("line", "").strip()))
        elif what == "suppress":
            visit.edit(seen, (("utility", "suppress_at_most"), form.get("value", "").strip() or REMOVE))
        elif what == "person":
            visit.edit(seen, (("person",), person_entry(form, several, str(visit.data.get("people") or ""))))
        elif what == "method":
            visit.edit(seen, (("method",), {form["value"]: {}} if form.get("value") else REMOVE))
        else:
            raise PolicyError("nothing is known of this change", where="promises", hint="load the page again")
        return ""

    @staticmethod
    def _set_level(visit: Visit, form: Mapping[str, str]) -> None:
        """Change one number in the sentence of a requirement."""
        at, level, value = int(form.get("at", "-1")), form.get("level", ""), form.get("value", "").strip()
        listed = _listed(visit.tree, "protect")
        entry = listed[at] if 0 <= at < len(listed) else None
        by = entry.get("by", entry) if isinstance(entry, Mapping) else None
        name = next(iter(by), "") if isinstance(by, Mapping) else ""
        cls = catalogue("models", Model).get(name)
        if cls is None or level not in cls.model_fields or not value:
            raise PolicyError("not a level of this requirement", where="protect", hint="load the page again")
        inside = ("by", name, level) if isinstance(entry, Mapping) and "by" in entry else (name, level)
        visit.edit(form.get("seen", ""), (("protect", at, *inside), value), said=f"{name}: {level} = {value}")

    @staticmethod
    def _take_recipe(visit: Visit, form: Mapping[str, str]) -> None:
        """Put the requirements of a recipe in the place of those that are there."""
        recipe = next((one for one in RECIPES if one["name"] == form.get("recipe")), None)
        if recipe is None:
            raise PolicyError("no such recipe", where="protect", hint="load the page again")
        roles = roles_of(visit.tree)
        made = [entry for entry in recipe["protect"] if _has_object(entry, roles)]
        limit = (("utility", "suppress_at_most"), recipe["suppress"])
        visit.edit(form.get("seen", ""), (("protect",), made), limit, said=f"recipe {recipe['title']}")


RECIPES: tuple[dict[str, Any], ...] = (
    {
        "name": "open",
        "title": "Open data",
        "protect": [{"k-anonymity": {"k": "12"}}, {"l-diversity": {"l": "3"}}],
        "suppress": "5%",
        "says": "Anybody may read it. 12 people look alike, each secret column has 3 possible values.",
        "source": "European Medicines Agency, Policy 0070, and Health Canada: probability of re-identification at most"
        " 0.09, which is 12 people or more",
    },
    {
        "name": "research",
        "title": "Research partner",
        "protect": [{"k-anonymity": {"k": "5"}}, {"l-diversity": {"l": "2"}}],
        "suppress": "5%",
        "says": "Recipients signed an agreement. 5 people look alike, each secret column has 2 possible values.",
        "source": "habit of statistical offices and data archives for files under contract: at least 3 to 5 people",
    },
    {
        "name": "internal",
        "title": "Internal",
        "protect": [{"k-anonymity": {"k": "3"}}, {"l-diversity": {"l": "2"}}],
        "suppress": "2%",
        "says": "Colleagues bound by confidentiality. 3 people look alike, each secret column has 2 possible values.",
        "source": "threshold of 0.33 for trusted recipients in guides on health data (El Emam, Guide to the"
        " De-Identification of Personal Health Information)",
    },
)
"""Requirements to begin with, and where their levels come from; habits, no laws."""


def _follows(tree: Mapping[str, Any], recipe: Mapping[str, Any]) -> bool:
    """Whether a policy promises exactly what a recipe does."""

    def levels(listed: Any) -> list[tuple[str, dict[str, str]]]:
        pairs = [(model, given) for entry in listed if isinstance(entry, Mapping) for model, given in entry.items()]
        return [
            (str(model), {str(key): str(value) for key, value in given.items()})
            for model, given in pairs
            if isinstance(given, Mapping)
        ]

    return levels(_listed(tree, "protect")) == levels(recipe["protect"])


def _accepted(entry: Any) -> str:
    """An accepted warning with its reason."""
    if not isinstance(entry, Mapping):
        return str(entry)
    told = {key: why if isinstance(why, Mapping) else {"reason": why} for key, why in entry.items()}
    return "; ".join(
        f"{key}: {', by '.join(map(str, filter(None, map(one.get, ('reason', 'by')))))}" for key, one in told.items()
    )


def roles_of(tree: Mapping[str, Any]) -> dict[str, str]:
    """The role of every column."""
    columns = tree.get("columns")
    listed = columns.items() if isinstance(columns, Mapping) else ()
    return {
        str(name): str(entry.get("role", "")) if isinstance(entry, Mapping) else str(entry) for name, entry in listed
    }


def _listed(tree: Mapping[str, Any], key: str) -> list[Any]:
    return list(tree[key]) if isinstance(tree.get(key), list) else []


def _list(form: Mapping[str, str]) -> str:
    if form.get("list") not in _LISTS:
        raise PolicyError("no such list in a policy", where="promises", hint=f"one of {', '.join(_LISTS)}")
    return form["list"]


def claims_of(form: Mapping[str, str], several: Mapping[str, list[str]]) -> list[Any]:
    """The entry of `protect` that a sentence says when it is filled in."""
    name = form.get("model", "")
    cls = catalogue("models", Model).get(name)
    if cls is None:
        raise PolicyError(f"no model '{name}'", where="protect", hint="choose one from the list")
    levels = {}
    for key, field in cls.model_fields.items():
        value = form.get(f"{name}.{key}", "").strip()
        if value and (field.is_required() or value != _written(field.default)):
            levels[key] = value
    return [_about({name: levels}, several)]


def usual_of(form: Mapping[str, str], several: Mapping[str, list[str]]) -> list[Any]:
    """Who knows these columns must be left with so many candidates, and those must show so many values."""
    made: list[Any] = []
    if form.get("k", "").strip():
        made.append(_about({"k-anonymity": {"k": form["k"].strip()}}, {"given": several.get("given", [])}))
    if form.get("l", "").strip():
        made.append(_about({"l-diversity": {"l": form["l"].strip()}}, several))
    if not made:
        raise PolicyError("nothing is promised", where="protect", hint="say how many candidates there must be")
    return made


def _has_object(entry: Any, roles: Mapping[str, str]) -> bool:
    """Whether an entry that hides the sensitive columns has any to hide: a table without them asks only for
    candidates."""
    if not isinstance(entry, Mapping) or "hide" in entry:
        return True
    by = entry.get("by", entry)
    cls = catalogue("models", Model).get(next(iter(by), ""))
    return cls is None or not cls.needs_sensitive or "sensitive" in roles.values()


def _require_new(made: list[Any], tree: Mapping[str, Any]) -> None:
    """Refuse an entry that ``protect:`` has already, however it is written; what cannot be read the policy itself
    refuses."""
    roles = roles_of(tree)
    known, hidden = (
        [name for name, role in roles.items() if role == want] for want in ("quasi-identifier", "sensitive")
    )
    try:
        listed = [*_listed(tree, "protect"), *made]
        claims = read_requirements(listed, Document({"protect": listed}), known, hidden, hidden)
    except PolicyError:
        return
    for place in range(len(claims) - len(made), len(claims)):
        if any(claims[place].same_as(earlier) for earlier in claims[:place]):
            hint = "change the level or the columns, or remove the one that is there first"
            raise PolicyError(f"'{sentence(listed[place])}' is promised already", where="protect", hint=hint)


def rule_of(form: Mapping[str, str], several: Mapping[str, list[str]]) -> list[Any]:
    """A rule between columns in one line: known -> hidden : level-word."""
    given, hide, word = several.get("given", []), several.get("hide", []), form.get("word", "")
    if not given or not hide:
        raise PolicyError(
            "a rule leads from columns to columns", where="protect", hint="mark columns on both sides of the picture"
        )
    if word not in short_forms():
        raise PolicyError(
            f"no claim in one line ends with '{word}'", where="protect", hint=f"one of {', '.join(short_forms())}"
        )
    return [f"{', '.join(given)} -> {', '.join(hide)} : {form.get('level', '2').strip() or '2'}-{word}"]


def _about(claim: dict[str, Any], several: Mapping[str, list[str]]) -> dict[str, Any]:
    """A claim with the columns that were marked; none marked means all of their role."""
    given, hide = several.get("given", []), several.get("hide", [])
    if not given and not hide:
        return claim
    marked = {"given": given} if given else {}
    return {**marked, **({"hide": hide[0] if len(hide) == 1 else hide} if hide else {}), "by": claim}


def claim_shown(entry: Any, at: int, roles: Mapping[str, str], lines: Mapping[Any, int]) -> dict[str, Any]:
    """A claim as a page shows it: a sentence, the columns it leads from and to, its line."""
    given, hide = ends_of(entry, roles)
    told = {"at": at, "sentence": sentence(entry), "given": given, "hide": hide, "line": lines.get(("protect", at), 0)}
    return told | {"pieces": filled_pieces(entry)}


def filled_pieces(entry: Any) -> list[dict[str, Any]]:
    """The sentence of a requirement as texts and fields with their present values; none where it is one line."""
    by = entry.get("by", entry) if isinstance(entry, Mapping) else None
    name, levels = next(iter(by.items()), ("", None)) if isinstance(by, Mapping) else ("", None)
    cls = catalogue("models", Model).get(str(name))
    if cls is None or not isinstance(levels, Mapping):
        return []
    hide = ", ".join(names_in(entry.get("hide"))) if "by" in entry else ""
    found = []
    for piece in pieces(cls):
        if "hole" in piece:
            value = levels.get(
                piece["hole"], piece["value"] if not cls.model_fields[piece["hole"]].is_required() else ""
            )
            found.append(piece | {"value": str(value)})
        else:
            found.append({"text": piece["text"].replace("the hidden columns", hide or "each sensitive column")})
    return found


def ends_of(entry: Any, roles: Mapping[str, str]) -> tuple[list[str], list[str]]:
    """The columns that a claim takes as known, and those it hides."""
    if isinstance(entry, str):
        left, _, right = entry.rpartition(":")[0].partition("->")
        return [name.strip() for name in left.split(",") if name.strip()], [
            name.strip() for name in right.split(",") if name.strip()
        ]
    by = entry.get("by", entry) if isinstance(entry, Mapping) else {}
    cls = catalogue("models", Model).get(next(iter(by), "") if isinstance(by, Mapping) else str(by))
    given = names_in(entry.get("given")) if isinstance(entry, Mapping) and "by" in entry else []
    hide = names_in(entry.get("hide")) if isinstance(entry, Mapping) and "by" in entry else []
    given = given or [name for name, role in roles.items() if role == "quasi-identifier"]
    return given, hide or (
        [name for name, role in roles.items() if role == "sensitive"] if cls and cls.needs_sensitive else []
    )


def sentence(entry: Any) -> str:
    """A claim as somebody would say it.

    >>> sentence({"k-anonymity": {"k": "5"}})
    'an adversary who knows the quasi-identifiers must be left with at least 5 candidates'
    >>> sentence({"given": ["age"], "hide": "pay", "by": {"p-sensitivity": {"p": "2"}}})
    'an adversary who knows age must find at least 2 different values of pay'
    """
    if not isinstance(entry, Mapping):
        return str(entry)
    by = entry.get("by", entry)
    name, levels = next(iter(by.items())) if isinstance(by, Mapping) and by else (str(by), {})
    given = ", ".join(names_in(entry.get("given"))) if "by" in entry else ""
    hide = ", ".join(names_in(entry.get("hide"))) if "by" in entry else ""
    cls = catalogue("models", Model).get(name)
    if cls is None:
        return str(entry)
    known = {key: _written(field.default) for key, field in cls.model_fields.items() if not field.is_required()}
    known |= {key: str(value) for key, value in (levels if isinstance(levels, Mapping) else {}).items()}
    filled = _HOLE.sub(
        lambda hole: known.get(hole[1], "…") or "as they come",
        cls.sentence.replace("{hide}", hide or "each sensitive column"),
    )
    return f"an adversary who knows {given or 'the quasi-identifiers'} {filled}"


def models_for(kind: str) -> list[dict[str, Any]]:
    """The models that speak of a kind of data, their sentences in pieces: texts, and holes to fill in."""
    return [
        {
            "name": name,
            "meaning": summary_of(cls),
            "pieces": pieces(cls),
            "hides": cls.needs_sensitive,
        }
        for name, cls in sorted(catalogue("models", Model).items())
        if kind in cls.kinds
    ]


def pieces(cls: type[Model]) -> list[dict[str, Any]]:
    """A sentence as texts and holes."""
    found: list[dict[str, Any]] = []
    for text, hole in re.findall(r"([^{]*)(?:\{(\w+)\})?", cls.sentence):
        found += [{"text": text}] if text else []
        if hole == "hide":
            found.append({"text": "the hidden columns"})
        elif hole:
            field = cls.model_fields[hole]
            value = _EXAMPLE.get(hole, "1") if field.is_required() else _written(field.default)
            choices = [str(choice) for choice in get_args(field.annotation) if isinstance(choice, str)]
            found.append({"hole": hole, "value": value, "choices": choices, "meaning": field.description or hole})
    return found


def _written(value: Any) -> str:
    return "" if value is None else ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)
