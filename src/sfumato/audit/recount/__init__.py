"""The independent recount: every model is counted a second time, plainly, from its definition.

The floor under the wall: every model on groups is counted a second time, plainly, from its definition.

Audit and methods stand on the same ground: policy and tables as they are read, classes, linkage, the models themselves.
A defect there makes both wrong together, and they agree. The floor shares none of it. It reads ``policy.yaml``,
``manifest.json`` and the published files by itself, counts with dictionaries and whole numbers, and must agree before
anything is published or verified.

::

    files        the folder: manifest, and parts as bags of rows (csv, strict; parquet)
    written      what policy.yaml asks for: columns, claims, what outsiders know
    definitions  each model from its definition: what was asked, what a group has, which way is better
    groups       a form of release as groups of people who look alike: one table, anatomy, replaced table, graph
    subtables    several tables: which one guards a rule, and what it shows by itself
    counting     `recount`: one entry per claim
    population   claims about a population: people behind the rows of a group, from a fraction, published weights or a
                 table of all
    fitting      which published labels could stand for a value, from what the policy says of its column
    people       where a person may stand in several rows: the claims on people, when the data holder says whose rows
                 they are
    people_in_subtables   the same in several tables: who stands in the buckets of the table that a hidden column is
                          dealt in
    comparing    `disagreements`: the certificate beside the count

Guarantee
    `disagreements` is empty only if every claim of ``policy.yaml`` has its finding, in order, about the same columns
    and the same level, and every finding that the floor can count shows what the floor counts and reaches what was
    asked.

What is counted
    recoded table   k-anonymity, p-sensitivity, l-diversity (all four kinds), t-closeness (both distances), (α,
    k)-anonymity
    anatomy         the same; a person whose given values stand in several buckets is their mixture, in exact fractions
    sub-tables      the same, through the guardian table of [versatile Def. 4], what outsiders know included
    replaced table  claims that hide only columns published as they are
    graph           k-degree-anonymity

What is not, and why
    k-linkability, k-diversity   they speak of all releases, and of people who fit into rows of several groups; the
    groups of this
                                 release are given as a level that is reached *at least* when nothing else was published
    k-map, δ-presence            where the population is a table and nobody gives it: it is not in the folder
    baskets, replaced columns    candidates and beliefs are of people and rules that are not in the folder
    structural-attack            a bound on a channel, no count
    databases, unknown models    nothing here says what they mean

    Such an entry says *not counted* with the reason (`Recount.why`), so that the caller decides.

Kept in every file of this folder
    -   Nothing is imported from data, models, policy or io; ``tests/house/test_floor.py`` walks the imports.
    -   Cells are compared as they are written. An empty cell is a value of its own.
    -   What should be countable and is not (a part is missing, a bucket does not add up) does not reach anything.
    -   Sentences carry counts, codes and column names, never a value of a person.

Cost: linear in the size of the folder and the number of claims; a million rows of five columns take a few seconds.

>>> import json, tempfile
>>> from pathlib import Path
>>> folder = Path(tempfile.mkdtemp())
>>> _ = (folder / "data.csv").write_text("age,illness\\n30-39,flu\\n30-39,gout\\n40-49,flu\\n")
>>> columns = "columns: {age: quasi-identifier, illness: sensitive}\\n"
>>> _ = (folder / "policy.yaml").write_text(columns + "protect: [{k-anonymity: {k: 2}}]\\n")
>>> _ = (folder / "manifest.json").write_text(json.dumps({"form": "recoded table", "files": {"data.csv": {"rows": 3}}}))
>>> [(each.model, each.required, each.achieved, each.reaches) for each in recount(folder)]
[('k-anonymity', {'k': 2}, {'k': 1}, False)]
>>> finding = {"model": "k-anonymity", "given": ["age"], "hide": [], "required": {"k": 2}, "achieved": {"k": 2},
...     "holds": True}
>>> print("\\n".join(disagreements(folder, [finding])))
claim 1, k-anonymity: k is 2 in the certificate and 1 in the files
claim 1, k-anonymity: said to hold, but the files do not reach k 2
"""

from sfumato.audit.recount.files import Everybody
from sfumato.audit.recount.persons import classes_violated_for_persons
from sfumato.audit.recount.recount import Recount, compare_with_findings, disagreements, recount

__all__ = ["Everybody", "Recount", "classes_violated_for_persons", "compare_with_findings", "disagreements", "recount"]
