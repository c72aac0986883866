"""``docs/reference/policy.md``: every key of a policy, from the declarations that read it, with examples that a test publishes.

The examples are files of their own in ``docs/examples``, beside the small tables they speak of.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from sfumato.core.registry import catalogue
from sfumato.data.check_digits import NUMBERS
from sfumato.io.source import Source
from sfumato.models.base import Model
from sfumato.policy.custom_code import Plugins
from sfumato.policy.policy import Book, Column, Utility
from sfumato.policy.requirements import short_forms
from sfumato.policy.sections import DateShift, Person, SampledPopulation, Series
from sfumato.policy.value_domains import FAKES, FORMED
from sfumato.release.method import Method

EXAMPLES = Path(__file__).resolve().parents[4] / "docs" / "examples"
OPENING = """# The policy

A policy is a YAML file that says what must stay private and what must stay true. This page lists every key, every value and its
default. It is made from the declarations that read policies (`python -m sfumato.ui.reference_pages`); a test fails when it lags, and another
one publishes every example on it. The tables they speak of lie in [docs/examples](../examples/people.csv).

- `sfumato check policy.yaml` says what a policy would do, or everything that is wrong with it at once, with file and line.
- `sfumato schema > policy.schema.json` writes a JSON schema; an editor that finds
  `# yaml-language-server: $schema=policy.schema.json` in the first line completes keys and underlines mistakes.
- YAML is read strictly: keys that stand twice or that nobody knows are errors; `NO`, `on` and `01234` stay the text they are.
- Relative paths are relative to the policy.
"""  # noqa: E501
KEYS = {
    "version": "`1`. Required.",
    "data": "Where the data comes from: a file, or a mapping with a `kind`.",
    "columns": "The columns of a table (and of the labels of baskets), by name: a role, or a mapping.",
    "protect": "The claims: what nobody may learn. A list.",
    "knows": "What outsiders know beside the release: dependencies between columns (`zip -> county`).",
    "keep": "What must be true in the output: rules, see [constraints](constraints.md).",
    "method": "How the release is made. Absent: the planner chooses and says why.",
    "utility": "What the release should be good at.",
    "ledger": "The file that remembers releases: the next one is judged together with all before it; see [several releases](../explanation/releases.md).",
    "key": "The private columns that name a record in every release of a ledger. Never published.",
    "person": "The columns that name a person, when one person may have several rows: candidates are then people.",
    "population": "Whom the people of the table are a sample of, for claims about everybody: `k-map`, `delta-presence`, the "
    "journalist's and the marketer's risk; see [people](../explanation/people.md).",
    "series": "How releases of a ledger belong together; see [several releases](../explanation/releases.md).",
    "accept": "Warnings of `check` about columns that the data holder has looked at, by their names.",
    "plugins": "Own Python code that rules and domains call, as a last resort; off unless the environment allows it. See "
    "[rules](../explanation/rules.md).",
}
ROLES = {
    "identifier": "names people; never published",
    "quasi-identifier": "outsiders may know it; generalized as far as the claims need",
    "sensitive": "outsiders want to learn it; published as it is, protected by the claims",
    "other": "published as it is; what it gives away is up to you, and `check` warns",
    "replaced": "published with new values from a `domain` that obey `keep`",
}
HIERARCHIES = {
    "absent": "text is kept or suppressed (`*`); so are numbers",
    "`flat`": "the same, said aloud",
    "`ranges`": "numbers: any interval `lo-hi` between values that occur",
    "`{intervals: [5, 10, 20]}`": "numbers in ever wider bins that nest: 40-44, 40-49, 40-59, then `*`",
    "`{cuts: [0, 18, 30, 65, 120]}`": "numbers in bins between chosen points, each from a point to below the next: 18-29; the "
    "first and the last are the ends. Several lists, from fine to coarse, make levels: "
    "`{cuts: [[0, 18, 30, 65, 120], [0, 30, 120]]}`",
    "`{prefix: 5}`": "codes that lose their last characters one by one: `7100*`, `710**`, …",
    "`{dates: [month, year]}`": "days by `week`, `month`, `quarter`, `year`, `decade`, from fine to coarse",
    "`regions.csv`": "a file: one row per leaf, `leaf;level1;…;root`, `;` or `,` between, no header, UTF-8; or a file of Amnesia",
    "`{top: 90}`, `{bottom: 18}`": "top and bottom coding: 90 and everything above is always published as `≥90`, 18 and everything "
    "below as `≤18`",
    "`{round: 5}`": "the nearest multiple of 5, always; numbers stay numbers",
    "`{recode: {NY: East, CA: West}}`": "values become others by a table, always; or the name of a file with rows `old;new`. These "
    "four words may stand together, and beside one rule that makes them coarser: `{bottom: 18, top: 90, intervals: [5, 10]}`",
    "`{Italy: {South: [Bari, Lecce]}}`": "a nested tree with one root",
}
DOMAINS = {
    "`{integers: [80, 100]}`": "whole numbers, both ends included",
    "`{decimals: [0, 99.9], places: 1}`": "numbers with so many places (default 2)",
    "`{dates: [1990-01-01, 2012-12-31]}`": "days",
    "`{timestamps: [2020-01-01 00:00:00, 2020-12-31 23:59:00], step: minute}`": "moments by second (default), minute, hour, day",
    '`{pattern: "[A-Z]{2}[0-9]{4}", longest: 64}`': "texts of a regular form",
    "`{values: [s, m, l]}`": "a list",
    "`{like: city}`": "the values of a column; the list is then public",
    "`{fakes: name, locale: en_US}`": "realistic inventions: " + ", ".join((*FAKES, *FORMED)),
    "`{numbers: iban, country: NL}`": "numbers of a public system with their check digits: " + ", ".join(NUMBERS),
    "`{computed: true}`": "what an equation under `keep` gives",
    "`{plugin: badge, size: 9000}`": "texts that own code numbers",
    "`{empty: true}`": "nothing",
}


def policy_page() -> str:
    """The whole page."""
    lines = [OPENING, "## A first policy", "", *_example("first"), "## Keys", "", "| key | meaning |", "| --- | --- |"]
    lines += [f"| [`{key}`](#{key}) | {meaning} |" for key, meaning in KEYS.items() if key != "version"]
    parts = {
        "data": _data, "columns": _columns, "protect": _protect, "knows": _plain("knows"), "keep": _plain("keep"),
        "method": _method,
        "utility": _fields(Utility, "utility"), "ledger": _fields(Book, "ledger", "A path alone is `{file: path}`."),
        "key": _pointed("key", "See the example of [`ledger`](#ledger)."), "person": _person,
        "population": _fields(SampledPopulation, "population"), "series": _fields(Series, "series"),
        "accept": _plain("accept"), "plugins": _own_code,
    }  # fmt: skip
    for key, part in parts.items():
        lines += ["", f"## `{key}` {{#{key}}}", "", *part()]
    return "\n".join(lines).rstrip() + "\n"


def _example(name: str) -> list[str]:
    text = (EXAMPLES / f"{name}.yaml").read_text(encoding="utf-8").rstrip()
    return ["```yaml", *text.splitlines(), "```", ""]


def _plain(key: str) -> Any:
    return lambda: [KEYS[key], "", *_example(key)]


def _own_code() -> list[str]:
    lines = [f"| `{name}` | {field.description} |" for name, field in Plugins.model_fields.items()]
    return [KEYS["plugins"], "", "| key | meaning |", "| --- | --- |", *lines, ""]


def _pointed(key: str, sentence: str) -> Any:
    return lambda: [KEYS[key] + " " + sentence, ""]


def _fields(cls: type[BaseModel], key: str, more: str = "") -> Any:
    return lambda: [f"{KEYS[key]} {more}".strip(), "", *table(cls), *_example(key)]


def table(cls: type[BaseModel]) -> Iterator[str]:
    """The declared fields of a class as rows: name, values, default, meaning."""
    shown = {name: field for name, field in cls.model_fields.items() if not field.exclude}
    if not shown:
        yield "It takes no parameters."
    else:
        yield "| key | values | default | meaning |"
        yield "| --- | --- | --- | --- |"
    schema = cls.model_json_schema().get("properties", {})
    for name, field in shown.items():
        key = field.alias or name
        default = "required" if field.is_required() else _default(field)
        values = _values(schema.get(key, {})).replace("|", "\\|")
        yield f"| `{key}` | {values} | {default} | {(field.description or '').replace('|', chr(92) + '|')} |"
    yield ""


def _default(field: Any) -> str:
    value = field.get_default(call_default_factory=True)
    return "—" if value in (None, "", {}, (), []) else f"`{str(value).lower() if isinstance(value, bool) else value}`"


def _values(schema: dict[str, Any]) -> str:
    """What a value may be, in words."""
    if "enum" in schema:
        return ", ".join(f"`{value}`" for value in schema["enum"])
    if "const" in schema:
        return f"`{schema['const']}`"
    if "anyOf" in schema:
        return " or ".join(dict.fromkeys(_values(one) for one in schema["anyOf"] if one.get("type") != "null"))
    words = {
        "integer": "whole number",
        "number": "number",
        "boolean": "true or false",
        "string": "text",
        "array": "list",
        "object": "mapping",
    }
    kind = words.get(schema.get("type", ""), "see below" if "$ref" in schema else "see text")
    ends = [("minimum", "≥"), ("exclusiveMinimum", ">"), ("maximum", "≤"), ("exclusiveMaximum", "<")]
    return " ".join([kind, *(f"{sign} {schema[name]:g}" for name, sign in ends if name in schema)])


def _data() -> Iterator[str]:
    yield KEYS["data"] + " `data: people.csv` means `data: {kind: table, source: people.csv}`."
    yield ""
    for name, cls in catalogue("io", Source).items():
        yield f"### `kind: {name}`"
        yield ""
        yield (cls.__doc__ or "").splitlines()[0]
        yield ""
        yield from table(cls)
        yield from _example("data" if name == "table" else name)


def _columns() -> Iterator[str]:
    yield KEYS["columns"]
    yield ""
    yield from ("| role | meaning |", "| --- | --- |", *(f"| `{role}` | {meaning} |" for role, meaning in ROLES.items()), "")
    yield from table(Column)
    yield from _example("columns")
    yield from ("### `hierarchy`", "", "How values may be made coarser.", "")
    yield from ("| write | means |", "| --- | --- |", *(f"| {spec} | {meaning} |" for spec, meaning in HIERARCHIES.items()), "")
    yield "Every value must be a leaf of a hierarchy that is a file or a tree; others are counted in an error."
    yield ""
    yield from _example("hierarchies")
    yield from ("### `boundary`", "")
    yield "No value is generalized beyond the first boundary node above it: `[Apulia, Tuscany]` names nodes, `{level: 2}` a"
    yield "level counted from the leaves. Leaves without a boundary node above them may rise to the root."
    yield ""
    yield from (
        "### `domain`",
        "",
        "What a `replaced` column is drawn from. `weights: original` draws values as often as they occur.",
        "",
    )
    yield from ("| write | values |", "| --- | --- |", *(f"| {spec} | {meaning} |" for spec, meaning in DOMAINS.items()), "")
    yield from ("### `dates`", "", "With [`person`](#person): dates of a person are moved, all by the same number of days.", "")
    yield from table(DateShift)


def _protect() -> Iterator[str]:
    yield KEYS["protect"] + " Three ways to write one:"
    yield ""
    yield from _example("claims")
    words = ", ".join(
        f"`{level}-{word}` ({cls.name})" for level, (word, (cls, _)) in enumerate(sorted(short_forms().items()), start=2)
    )
    yield f"Words that a claim in one line may end with: {words}."
    yield ""
    for name, cls in catalogue("models", Model).items():
        yield f"### `{name}`"
        yield ""
        yield (cls.__doc__ or "").splitlines()[0] + f" For {', '.join(sorted(cls.kinds))}."
        yield ""
        yield from table(cls)


def _method() -> Iterator[str]:
    yield KEYS["method"] + " `method: mondrian` means `method: {mondrian: {}}`."
    yield ""
    yield from _example("method")
    for name, cls in catalogue("methods", Method).items():
        yield f"### `method: {name}`"
        yield ""
        yield (cls.__doc__ or "").splitlines()[0]
        yield ""
        yield from table(cls)


def _person() -> Iterator[str]:
    yield KEYS["person"] + " A column or a list of columns alone is `{columns: …}`."
    yield ""
    yield from table(Person)
    yield from _example("person")
