"""Generate ``docs/reference/policy.md``: every key of a policy, from the declarations that read it.

The examples are the files in ``docs/examples``; a test publishes each of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from sfumato.core.registry import catalogue
from sfumato.core.wording import summary_of
from sfumato.data.check_digits import NUMBERS
from sfumato.io.source import Source
from sfumato.models.base import Model
from sfumato.policy.custom_code import Plugins
from sfumato.policy.policy import Book, Column, Utility
from sfumato.policy.requirements import short_forms
from sfumato.policy.sections import DateShift, Person, SampledPopulation, Series
from sfumato.policy.value_domains import FAKES, FORMED
from sfumato.release.method import Method

EXAMPLES = Path(__file__).resolve().parents[1] / "docs" / "examples"
OPENING = """# Policy

A policy is a YAML file. It says what must stay private and what must stay true.
This page lists every key, its values and its default.

- `sfumato check policy.yaml` says what a policy would do. It reports all errors at once, with file and line.
- `sfumato schema > policy.schema.json` writes a JSON schema. An editor completes keys if the first line of the policy
  is `# yaml-language-server: $schema=policy.schema.json`.
- YAML is read strictly. Duplicate and unknown keys are errors. `NO`, `on` and `01234` stay text.
- Relative paths are relative to the policy file.

The page is generated from the code. A test publishes every example. The tables of the examples are in
[docs/examples](../examples/people.csv).
"""
KEYS = {
    "version": "`1`. Required.",
    "data": "Where the data comes from: a file, or a mapping with a `kind`.",
    "columns": "The columns by name. Each has a role, or a mapping with a role and more.",
    "protect": "The privacy requirements, as a list.",
    "knows": "Dependencies between columns that the adversary knows, such as `zip -> county`.",
    "keep": "Constraints that the published data must satisfy. See [constraints](constraints.md).",
    "method": "The method that makes the release. Without it the planner chooses one and says why.",
    "utility": "What the release is optimized for, and the suppression limit.",
    "ledger": "The ledger of the series. See [several releases](../explanation/releases.md).",
    "key": "The private columns that identify a record in every release of a ledger. They are never published.",
    "person": (
        "The columns that identify a person, if one person may have several rows. See"
        " [people](../explanation/people.md)."
    ),
    "population": (
        "The population that the table samples, for `k-map`, `delta-presence` and journalist or marketer risk. "
        "See [survey weights](../how-to/survey-weights.md)."
    ),
    "series": "How the releases of a ledger belong together. See [several releases](../explanation/releases.md).",
    "accept": (
        "Warnings of `check` that the data holder has reviewed, by their identifiers, each with a reason if given. "
        "A sensitive column that no requirement names (`unprotected:NAME`) needs a reason. "
        "An open point of a release (`open:…`, as `publish --verbose` prints it) needs a name and a reason: "
        '`{"open:other-columns:ward": {by: M. Weber, reason: wards are not known outside}}`. '
        "The certificate and the report show both."
    ),
    "effort": (
        "How long a search may take: `quick`, `balanced` (the default) or `thorough`. `check` says how long each takes."
        " A balanced search ends when twice the work takes less than 2.5 % off the loss. More effort never loses"
        " more."
    ),
    "title": "The name of the data set, shown on reports.",
    "publisher": "Who publishes the data set, shown on reports.",
    "plugins": (
        "Python code that constraints and domains call. It is off unless the environment allows it. "
        "See [write a plugin](../how-to/plugin.md)."
    ),
}
ROLES = {
    "identifier": "names people; never published",
    "quasi-identifier": "an adversary may know it; generalized as far as the requirements need",
    "sensitive": "must not be inferred; published unchanged, protected by the requirements",
    "other": "published unchanged and not protected; `check` warns where that is dangerous",
    "replaced": "published with new values from a `domain` that satisfy `keep`",
    "drop": "left out of the release",
    "review": (
        "somebody has to decide: `check` and `publish` refuse until another role is written, or `--accept-roles` takes "
        "what is `proposed`"
    ),
}
HIERARCHIES = {
    "absent": "text is published unchanged or suppressed (`*`); numbers get intervals at round numbers",
    "`flat`": "published unchanged or suppressed, numbers too",
    "`ranges`": "numbers: any interval `lo-hi` between values that occur",
    "`{intervals: [5, 10, 20]}`": "numbers in nested bins: 40-44, 40-49, 40-59, then `*`",
    "`{cuts: [0, 18, 30, 65, 120]}`": (
        "numbers in bins between chosen points, such as 18-29; the outer points are the ends. "
        "Several lists, from fine to coarse, give several levels: "
        "`{cuts: [[0, 18, 30, 65, 120], [0, 30, 120]]}`"
    ),
    "`{prefix: 5}`": "codes that lose one character per level: `7100*`, `710**`, …",
    "`{dates: [month, year]}`": "days by `week`, `month`, `quarter`, `year`, `decade`, from fine to coarse",
    "`regions.csv`": (
        "a file: one row per leaf, `leaf;level1;…;root`, `;` or `,` between, no header, UTF-8; or a file of Amnesia"
    ),
    "`{top: 90}`, `{bottom: 18}`": (
        "top and bottom coding: values from 90 are always published as `≥90`, values up to 18 as `≤18`"
    ),
    "`{round: 5}`": "the nearest multiple of 5, always; numbers stay numbers",
    "`{recode: {NY: East, CA: West}}`": (
        "values are always replaced by a table, or by a file with rows `old;new`. The last "
        "four can be combined with each other and with one hierarchy: `{bottom: 18, top: 90, intervals: [5, 10]}`"
    ),
    "`{Italy: {South: [Bari, Lecce]}}`": "a nested tree with one root",
}
DOMAINS = {
    "`{integers: [80, 100]}`": "whole numbers, both ends included",
    "`{decimals: [0, 99.9], places: 1}`": "numbers with this number of decimal places (default 2)",
    "`{dates: [1990-01-01, 2012-12-31]}`": "days",
    "`{timestamps: [2020-01-01 00:00:00, 2020-12-31 23:59:00], step: minute}`": (
        "times by second (default), minute, hour or day"
    ),
    '`{pattern: "[A-Z]{2}[0-9]{4}", longest: 64}`': "texts that match a regular expression",
    "`{values: [s, m, l]}`": "a list",
    "`{like: city}`": "the values of a column; the list of values is then public",
    "`{fakes: name, locale: en_US}`": "realistic invented values: " + ", ".join((*FAKES, *FORMED)),
    "`{numbers: iban, country: NL}`": "numbers of a public system with their check digits: " + ", ".join(NUMBERS),
    "`{computed: true}`": "computed by an equation under `keep`",
    "`{plugin: badge, size: 9000}`": "texts that a plugin generates",
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
        "accept": _plain("accept"), "effort": _pointed("effort", "Write `effort: quick`."), "plugins": _own_code,
        "title": _pointed("title", "For example `title: Hospital discharges 2025`."),
        "publisher": _pointed("publisher", "For example `publisher: Health Department, Statistics Unit`."),
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
        yield summary_of(cls)
        yield ""
        yield from table(cls)
        yield from _example("data" if name == "table" else name)


def _columns() -> Iterator[str]:
    yield KEYS["columns"]
    yield ""
    yield from (
        "| role | meaning |",
        "| --- | --- |",
        *(f"| `{role}` | {meaning} |" for role, meaning in ROLES.items()),
        "",
    )
    yield from table(Column)
    yield from _example("columns")
    yield from ("### `hierarchy`", "", "How values may be generalized.", "")
    yield from (
        "| write | means |",
        "| --- | --- |",
        *(f"| {spec} | {meaning} |" for spec, meaning in HIERARCHIES.items()),
        "",
    )
    yield "In a file or a nested tree every value of the data must be a leaf. An error counts those that are not."
    yield ""
    yield from _example("hierarchies")
    yield from ("### `boundary`", "")
    yield (
        "The generalization boundary. No value is generalized beyond the first boundary node above it. `[Apulia,"
        " Tuscany]` names"
    )
    yield (
        "nodes; `{level: 2}` is a level counted from the leaves. Values without a boundary node may be generalized to"
        " the root."
    )
    yield ""
    yield from (
        "### `domain`",
        "",
        "The values that a `replaced` column is drawn from. `weights: original` draws values as often as they occur.",
        "",
    )
    yield from (
        "| write | values |",
        "| --- | --- |",
        *(f"| {spec} | {meaning} |" for spec, meaning in DOMAINS.items()),
        "",
    )
    yield from (
        "### `dates`",
        "",
        "With [`person`](#person): all dates of a person are shifted by the same random number of days.",
        "",
    )
    yield from table(DateShift)


def _protect() -> Iterator[str]:
    yield KEYS["protect"] + " A requirement can be written in three ways:"
    yield ""
    yield from _example("claims")
    words = ", ".join(
        f"`{level}-{word}` ({cls.name})"
        for level, (word, (cls, _)) in enumerate(sorted(short_forms().items()), start=2)
    )
    yield f"A requirement in one line may end with: {words}."
    yield ""
    for name, cls in catalogue("models", Model).items():
        yield f"### `{name}`"
        yield ""
        yield summary_of(cls) + f" For {', '.join(sorted(cls.kinds))}."
        yield ""
        yield from table(cls)


def _method() -> Iterator[str]:
    yield KEYS["method"] + " `method: mondrian` means `method: {mondrian: {}}`."
    yield ""
    yield from _example("method")
    for name, cls in catalogue("methods", Method).items():
        yield f"### `method: {name}`"
        yield ""
        yield summary_of(cls)
        yield ""
        yield from table(cls)


def _person() -> Iterator[str]:
    yield KEYS["person"] + " A column or a list of columns alone is `{columns: …}`."
    yield ""
    yield from table(Person)
    yield from _example("person")
