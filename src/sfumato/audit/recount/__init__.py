"""The independent recount: every model is counted a second time, plainly, from its definition.

The independent recount below the audit: every model on classes is counted a second time, plainly, from its definition.

Audit and methods share code: readers of policy and tables, classes, linkage, the models themselves. A defect there
makes both wrong in the same way, and they agree. The recount shares none of it. It reads ``policy.yaml``,
``manifest.json`` and the published files by itself, counts with dictionaries and whole numbers, and must agree before
anything is published or verified.

::

    files                the folder: manifest, and parts as multisets of rows (csv, strict; parquet)
    policy_text          what policy.yaml requires: columns, requirements, background knowledge
    definitions          each model from its definition: required level, level of a class, which direction is better
    equivalence_classes  a form of release as equivalence classes: one table, anatomy, replaced table, graph, sub-tables
    population           requirements about a population, from a fraction, published weights or a table of all people
    persons              requirements per person, if the data holder names the persons of the rows
    recount              one entry per requirement, and `disagreements` with the certificate

Guarantee
    `disagreements` is empty only if every requirement of ``policy.yaml`` has its finding, in order, about the same
    columns and the same level, and every finding that can be recounted shows the recounted level and reaches the
    required one.

What is counted
    forms   recoded table, linked table, related tables, sampled table, microaggregated table, locally suppressed table,
            anatomy, sub-tables, replaced table, graph
    models  k-anonymity, p-sensitivity, l-diversity, entropy-diversity, t-closeness, alpha-k-anonymity, beta-likeness,
            delta-disclosure, average-risk, profitability, k-map, delta-presence, k-linkability, k-diversity,
            subset-anonymity, k-degree-anonymity

    In an anatomy, a person whose known values occur in several buckets gets their mixture, in exact fractions.
    Sub-tables are counted through the guardian table of [versatile Def. 4], with background knowledge. Of a replaced
    table, requirements that protect only columns published unchanged are counted.

What is not, and why
    k-linkability, k-diversity   they speak of all releases, and of people who fit into rows of several groups; the
    groups of this
                                 release are given as a level that is reached *at least* when nothing else was published
    k-map, δ-presence            where the population is a table and nobody gives it: it is not in the folder
    baskets, replaced columns    candidates and beliefs are of people and rules that are not in the folder
    noise models                 a bound on a channel, no count
    databases, unknown models    nothing here says what they mean

    Such an entry says *not counted* with the reason (`Recount.why`), so that the caller decides.

Rules of every file in this folder
    -   Nothing is imported from data, models, policy or io; ``tests/house/test_floor.py`` walks the imports.
    -   Cells are compared as they are written. An empty cell is a value of its own.
    -   What should be countable and is not (a part is missing, a bucket does not add up) does not reach anything.
    -   Sentences carry counts, codes and column names, never a value of a person.

Cost: linear in the size of the folder and the number of requirements; a million rows of five columns take a few
seconds.

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
