"""Facts of the catalogue that no declaration has: formula, cost and example of every model, method, metric and attack.

Costs are growth. They were read from the code; `tests/pages/test_catalogue.py` asks for every fact of every entry.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class Facts(NamedTuple):
    """What the page says about an entry besides its declaration."""

    formula: str
    cost: str
    example: str
    """A policy line, or a command."""
    parameters: tuple[tuple[str, str, str], ...] = ()
    """Name, default, meaning: for metrics, whose parameters are options of `measure`."""


CLASSES = "linear in the number of equivalence classes"
VALUES = "linear in the pairs of a class and a sensitive value"

MODELS: Mapping[str, Facts] = {
    "alpha-k-anonymity": Facts("\\|E\\| ≥ k and max p ≤ α", VALUES, "{alpha-k-anonymity: {alpha: 0.5, k: 5}}"),
    "average-risk": Facts("mean of 1/\\|E\\| over all records ≤ risk", CLASSES, "{average-risk: {risk: 0.1}}"),
    "beta-likeness": Facts("(p − q)/q ≤ β; enhanced: ≤ min(β, −ln q)", VALUES, "{beta-likeness: {beta: 1}}"),
    "degree-attack": Facts(
        "(1 + TV)/2 ≤ success, TV between two published degree distributions",
        "at most linear in the number of nodes, independent of the edges",
        "{degree-attack: {apart: 10, success_at_most: 0.8}}",
    ),
    "delta-disclosure": Facts(
        "\\|ln(p/q)\\| < δ for every value of the release", VALUES, "{delta-disclosure: {delta: 1.5}}"
    ),
    "delta-presence": Facts(
        "at_least ≤ published/population ≤ at_most in every class",
        f"{CLASSES}; before that, the population is compared with the classes",
        "{delta-presence: {at_least: 0.1, at_most: 0.5}}",
    ),
    "differential-privacy": Facts(
        "P(R(D) ∈ S) ≤ e^ε P(R(D′) ∈ S) + δ",
        "independent of the data: a search over class sizes, at most 2²⁰ of them",
        "{differential-privacy: {epsilon: 2, delta: 0.00001}}",
    ),
    "edge-privacy": Facts(
        "ln((1 − μ)/μ) ≤ ε for edge perturbation",
        "constant for each release of a graph",
        "{edge-privacy: {epsilon: 1}}",
    ),
    "entropy-diversity": Facts("−Σ p ln p ≥ ln l", VALUES, "{entropy-diversity: {l: 2}}"),
    "k-anonymity": Facts("\\|E\\| ≥ k", f"{CLASSES}, which are counted in O(d · n log n)", "{k-anonymity: {k: 5}}"),
    "k-degree-anonymity": Facts(
        "every published degree occurs at least k times",
        "linear in the number of nodes and edges",
        "{k-degree-anonymity: {k: 3}}",
    ),
    "k-diversity": Facts(
        "share of a value among the cliques of a person ≤ 1/k",
        f"{VALUES}; the join of releases is linear in its edges and cliques, exact decisions have a time limit",
        "{k-diversity: {k: 2}}",
    ),
    "k-linkability": Facts(
        "distinct values among the cliques of a person ≥ k",
        f"{VALUES}; the join of releases is linear in its edges and cliques, exact decisions have a time limit",
        "{k-linkability: {k: 3}}",
    ),
    "k-map": Facts(
        "people of the population in every class ≥ k",
        f"{CLASSES}; before that, the population is compared with the classes",
        "{k-map: {k: 10}}",
    ),
    "km-anonymity": Facts(
        "rows that contain any m items ≥ k",
        "linear in the item sets of at most m items that occur; more than 2,000,000 are refused",
        "{km-anonymity: {k: 10, m: 2}}",
    ),
    "l-diversity": Facts(
        "distinct: values ≥ l; frequency: max p ≤ 1/l; entropy: −Σ p ln p ≥ ln l; recursive: r₁ < c (r_l + … + r_m)",
        f"{VALUES}; recursive: one sort of these pairs",
        "{l-diversity: {l: 3, kind: frequency}}",
    ),
    "neighbourhood": Facts(
        "(1 + TV)/2 ≤ success, TV over edges to known nodes",
        "at most linear in the number of known nodes, independent of the graph",
        "{neighbourhood: {known: 5, success_at_most: 0.8}}",
    ),
    "node-privacy": Facts(
        "ε-differential privacy for neighboring graphs that differ in one node's edges",
        "constant: the spent ε is compared",
        "{node-privacy: {epsilon: 1.0}}",
    ),
    "p-sensitivity": Facts("distinct values in E ≥ p for each sensitive column", VALUES, "{p-sensitivity: {p: 2}}"),
    "profitability": Facts(
        "benefit − expected loss by an attack ≥ 0 for every record",
        CLASSES,
        "{profitability: {benefit: 1200, loss: 300, gain: 300, cost: 4}}",
    ),
    "structural-attack": Facts(
        "P(planted path or pattern is found) ≤ success",
        "O(planted² log planted), independent of the graph; several releases: at most 2,000,000 combinations of counts",
        "{structural-attack: {planted: 20, success_at_most: 0.05}}",
    ),
    "subset-anonymity": Facts(
        "\\|E\\| ≥ k for every choice of m columns",
        "C(d, m) times the counting of classes, O(m · n log n) each",
        "{subset-anonymity: {k: 3, m: 2}}",
    ),
    "t-closeness": Facts(
        "distance(p, q) ≤ t; equal: ½ Σ \\|p − q\\|; ordered and hierarchical: earth mover's distance",
        f"equal: {VALUES}; ordered: classes × values; hierarchical: classes × nodes of the hierarchy",
        "{t-closeness: {t: 0.2}}",
    ),
}

METHODS: Mapping[str, Facts] = {
    "anatomy": Facts("buckets in which max p ≤ 1/l", "O(n)", "{anatomy: {}}"),
    "blocks": Facts(
        "min Σ \\|item set △ published set\\| over blocks of at least k records",
        "O(n log n) and a local search; a million sets in 34 CPU s",
        "{blocks: {insiders: 1}}",
    ),
    "clustering": Facts(
        "add the record with the least growth of NTIL until the cluster has k records and p values",
        "O(n²/k) comparisons of distinct records",
        "{clustering: {}}",
    ),
    "degree-anonymity": Facts(
        "min \\|E′ ∖ E\\| with E ⊆ E′ and every degree at least k times",
        "O(N log N + added edges)",
        "{degree-anonymity: {}}",
    ),
    "edge-perturbation": Facts(
        "every pair is published with P(edge → none) = P(none → edge) = μ",
        "O(edges + flips); μN²/2 flips are published",
        "{edge-perturbation: {mu: 0.01}}",
    ),
    "global": Facts(
        "min loss over one level per column, with the suppression limit",
        "visits a part of the lattice; at most `nodes` of it",
        "{global: {}}",
    ),
    "guardian": Facts(
        "for every rule Q → S a sub-table that satisfies (Q ∩ A) ∪ Q* → S",
        "polynomial in columns and rules, O(n) per candidate split",
        "{guardian: {}}",
    ),
    "linked": Facts(
        "k people with equal published rows, row by row",
        "as the method named in `groups`, on people",
        "{linked: {groups: refined}}",
    ),
    "local-suppression": Facts(
        "min Σ weight of suppressed cells, with k candidates for every m columns",
        "O(n · C(d, m)) per round, within `seconds`",
        "{local-suppression: {}}",
    ),
    "microaggregation": Facts(
        "min Σ (x − mean of its group)² over groups of at least k",
        "one column: O(n log n), optimal; several: O(n²/k)",
        "{microaggregation: {}}",
    ),
    "mondrian": Facts(
        "split at the median or at the children of a node while both parts satisfy the models",
        "O(d · n log n); a million records in 4 CPU s",
        "{mondrian: {}}",
    ),
    "multi-sensitive": Facts(
        "buckets in which every sensitive column has max p ≤ 1/l",
        "an integer program over combinations of sensitive values",
        "{multi-sensitive: {}}",
    ),
    "node-private-figures": Facts(
        "figure + Laplace(sensitivity/ε), at most `limit` edges of a person counted",
        "O(edges)",
        "{node-private-figures: {limit: 32, people: 5300}}",
    ),
    "noise": Facts("x′ = x + N(0, amount · covariance)", "O(n · d²)", "{noise: {columns: [income], amount: 0.1}}"),
    "nonreciprocal": Facts(
        "each record is published at one of the k next places of a ring, as the majority there",
        "O(n log n + nk)",
        "{nonreciprocal: {}}",
    ),
    "obfuscation": Facts(
        "a random solution of all constraints over the replaced columns",
        "exact samplers: O(n); solver blocks: within `minutes`",
        "{obfuscation: {}}",
    ),
    "optimal": Facts(
        "min loss over all partitions into classes that satisfy the models",
        "column generation and an integer program within `seconds`",
        "{optimal: {seconds: 60}}",
    ),
    "pattern-walk": Facts(
        "a random x with A x ≤ b for all kept properties, by hit-and-run over the full chord",
        "O(steps · properties); parts are walked separately",
        "{pattern-walk: {linked_at_most: 0.1}}",
    ),
    "pram": Facts(
        "P(a → b) = matrix M with q M = q for the shares q of the column",
        "O(n)",
        "{pram: {columns: [city], keep: 0.8}}",
    ),
    "private-figures": Facts(
        "figure + noise of scale sensitivity/ε; triangles by the ladder mechanism",
        "O(edges × largest degree) for triangles",
        "{private-figures: {}}",
    ),
    "refined": Facts(
        "min loss by local search from the best start",
        "start methods and a search limited by `effort`: up to 0.5 s per 1,000 records and 45 s",
        "{refined: {seconds: 10}}",
    ),
    "related": Facts(
        "k people with equal published rows, in a table of people and a table of their rows",
        "as `linked`",
        "{related: {}}",
    ),
    "relational": Facts(
        "a random database that satisfies all constraints and keeps all keys",
        "O(rows) with exact samplers, in pieces within `memory`",
        "{relational: {}}",
    ),
    "sampled": Facts(
        "draw each record with probability β, generalize, suppress classes below k",
        "O(n) per level combination",
        "{sampled: {}}",
    ),
    "sequential": Facts(
        "min loss over joint equivalence classes of all releases",
        "as `refined`; independent of the number of earlier releases",
        "{sequential: {}}",
    ),
    "shuffling": Facts(
        "the i-th largest value goes to the record with the i-th largest predicted value",
        "O(n log n + n · d²)",
        "{shuffling: {columns: [income]}}",
    ),
    "single-attribute": Facts("one table per column", "O(n)", "{single-attribute: {}}"),
    "swapping": Facts(
        "exchange two values with \\|rank difference\\| ≤ window · n",
        "O(n log n)",
        "{swapping: {columns: [income], window: 0.05}}",
    ),
    "utility-aware": Facts(
        "a coloring of the columns in which no rule lies within one color",
        "O(n), and graph coloring of the columns",
        "{utility-aware: {}}",
    ),
}

MEASURE = "sfumato measure release --original patients.csv"
BASKETS = "sfumato measure release --original baskets.csv"
GRAPH = "sfumato measure release --original friends.tsv"
SAMPLE = ("sample", "5000", "largest number of records that are compared; from Python")
QUERIES = ("queries", "200", "number of random queries")
WORKLOAD = (
    QUERIES,
    ("dimension", "2", "number of columns in each query"),
    ("selectivity", "0.1", "share of the records that a query selects"),
)
ANALYSIS = (("analysis", "off", "measure it for a recoded table, too"),)
CELLS = "linear in the distinct published values of each column"
QUERYING = "one count of all rows for every set of columns; then queries × values, independent of the rows"

METRICS: Mapping[str, Facts] = {
    "added_edges": Facts("\\|E′ ∖ E\\|", "linear in the number of edges", GRAPH),
    "added_edges_gap": Facts("(added − bound)/added", "constant: the bound is the method's", GRAPH),
    "average_class_size": Facts("n / classes", "constant once classes are counted", MEASURE),
    "bit_error_rate": Facts(
        "\\|base △ set\\| / \\|set\\|, averaged over the rows that fit",
        "linear in the published items, for each of at most 2,000 records",
        BASKETS,
    ),
    "clustering_error": Facts(
        "records in another cluster / n",
        "records × clusters × columns, for at most 60 rounds",
        MEASURE,
        (("clusters", "5", "number of clusters; from Python"), SAMPLE),
    ),
    "correlation_error": Facts(
        "mean \\|r − r′\\| over pairs of columns", "O(n · d²)", f"{MEASURE} --analysis", ANALYSIS
    ),
    "discernibility": Facts("Σ \\|E\\|² + n · suppressed", CLASSES, MEASURE),
    "distortion": Facts("mean \\|x − x′\\| / \\|x\\|", "linear in the records × columns", MEASURE, (SAMPLE,)),
    "distribution_distance": Facts(
        "½ Σ \\|p − p′\\|",
        "published × original values of each column; columns of more than 300 values are left out",
        f"{MEASURE} --analysis",
        ANALYSIS,
    ),
    "entropy_loss": Facts("mean of H(value given the cell), in bits", CELLS, MEASURE),
    "graph_change": Facts(
        "added/edges; ½ Σ \\|p − p′\\| of degrees; C′ − C with C = 3 triangles/wedges",
        "O(edges × largest degree), for triangles",
        GRAPH,
    ),
    "kl_divergence": Facts("Σ p ln(p/p′)", "linear in the distinct records × the sub-tables", MEASURE),
    "known_width": Facts("mean of (s − 1)/(m − 1) per column", CELLS, BASKETS),
    "loss": Facts("mean of (s − 1)/(m − 1) for a cell that covers s of m values", CELLS, MEASURE),
    "loss_by_column": Facts("mean of (s − 1)/(m − 1) in one column", CELLS, MEASURE),
    "lower_bound": Facts(
        "L ≤ loss of every release that the method could make", "constant: the bound is the method's", MEASURE
    ),
    "means": Facts("\\|m′ − m\\| / \\|m\\| for mean and total", "O(n · d)", f"{MEASURE} --analysis", ANALYSIS),
    "ntil": Facts("mean of generalization height / hierarchy height", CELLS, MEASURE),
    "optimality_gap": Facts("(loss − bound)/loss", "constant: the bound is the method's", MEASURE),
    "pair_distance": Facts(
        "½ Σ \\|p − p′\\| over pairs of values",
        "one count of all rows for each pair of columns; products of their value tables",
        f"{MEASURE} --analysis",
        ANALYSIS,
    ),
    "prediction": Facts(
        "accuracy and area under the curve, or 1 − Σ (y − ŷ)²/Σ (y − mean)²",
        "training of two models on all rows and columns",
        f"{MEASURE} --predict income",
        (
            ("predict", "–", "the column to predict; without it, nothing is trained"),
            ("held_out", "a third of the original", "file with rows that are not in the training data"),
        ),
    ),
    "query_error": Facts("median of \\|count − estimate\\| / count", QUERYING, f"{MEASURE} --queries 1000", WORKLOAD),
    "query_error of baskets": Facts(
        "mean of \\|count − estimate\\| / n",
        "linear in the queries × (records + items asked for)",
        f"{BASKETS} --queries 1000",
        (
            QUERIES,
            ("present", "1; dense data: 3", "items of a query for items present; from Python"),
            ("absent", "5; dense data: 4", "items of a query for items absent; from Python"),
        ),
    ),
    "query_error of replaced numbers": Facts(
        "mean of \\|answer − answer′\\| / answer over all query forms",
        "queries × records × columns, per query form",
        f"{MEASURE} --queries 1000",
        (QUERIES, SAMPLE),
    ),
    "query_error of sub-tables": Facts(
        "median of \\|count − estimate\\| / count",
        "queries × (records + rows of the sub-tables)",
        f"{MEASURE} --percentage 0.3",
        (*WORKLOAD, ("percentage", "by selectivity", "share of the values of each column that a query accepts")),
    ),
    "range_query_error": Facts(
        "mean of \\|answer − answer′\\| / answer, per query form",
        "queries × records × columns, per query form",
        f"{MEASURE} --queries 1000",
        (QUERIES, SAMPLE),
    ),
    "recovered": Facts(
        "(observed − expected by μ) / (1 − 2μ) for edges, with standard errors",
        "O(published edges × largest degree): one pass for each small pattern",
        GRAPH,
    ),
    "true_error_rate": Facts(
        "\\|base △ set\\| / \\|set\\| over the true rows", "linear in the number of items", BASKETS
    ),
    "variance_lost": Facts("1 − var′/var", "O(n · d)", MEASURE),
    "weighted_query_error": Facts(
        "median of \\|weight − estimate\\| / weight", QUERYING, f"{MEASURE} --queries 1000", WORKLOAD
    ),
}

PLAYED = "--original patients.csv"
FLIP = "O(edges + flips) for each trial, with μN²/2 new edges"

ATTACKS: Mapping[str, Facts] = {
    "basket-linkage": Facts(
        "mean of 1/candidates; share of right label guesses",
        "linear in the pairs of distinct item sets that share an item",
        f"sfumato attack basket-linkage release {PLAYED}",
    ),
    "de-finetti": Facts(
        "P(value given the visible values) by naive Bayes, scaled to the counts of each bucket",
        "rounds × rows × values × visible columns",
        f"sfumato attack de-finetti release {PLAYED} --rounds 20",
    ),
    "degree-signatures": Facts(
        "mean of 1/nodes with the same degrees of neighbors",
        "O(edges log N): one sort of the neighbors of each node",
        "sfumato attack degree-signatures release",
    ),
    "degrees": Facts(
        "P(X > Y) + ½ P(X = Y) for two published degrees",
        f"{FLIP}; then hubs × N",
        "sfumato attack degrees friends.tsv --mu 0.01",
    ),
    "downcoding": Facts(
        "people per row that some assignment of all rows to people allows",
        "distinct people × classes comparisons, and one flow over the compatible pairs",
        f"sfumato attack downcoding release {PLAYED}",
    ),
    "few-items": Facts(
        "min of rows that fit, over all sets of at most m items of a person",
        "linear in the item sets of at most m items that occur; more than 2,000,000 are refused",
        f"sfumato attack few-items release {PLAYED} --m 2",
    ),
    "intersection": Facts(
        "people whose sensitive value is equal in all worlds that fit every sub-table",
        "linear for tables without common columns; else the join, with integer programs up to 4,000 cells",
        "sfumato attack intersection release",
    ),
    "interval-walk": Facts(
        "share of trials in which the path with published degrees within ± w is found",
        f"{FLIP}; the search grows with the nodes whose degree fits and with `errors`, up to `limit`",
        "sfumato attack interval-walk friends.tsv --planted 12 --trials 5",
    ),
    "join": Facts(
        "distinct values among the cliques of a person < k",
        "linear in the edges and cliques of the join; exact decisions within 60 CPU s",
        "sfumato attack join --ledger ledger",
    ),
    "labels": Facts(
        "max P(label given the items) by naive Bayes, each label of a block used once",
        "people × items × labels, for at most 20,000 people",
        f"sfumato attack labels release {PLAYED}",
    ),
    "linkage": Facts(
        "mean of 1/candidates; share of the most frequent value among them",
        "distinct original × distinct published combinations",
        f"sfumato attack linkage release {PLAYED}",
    ),
    "membership": Facts(
        "share of members covered − share of others covered",
        "linear in `people` × classes",
        f"sfumato attack membership release {PLAYED} --people 500",
    ),
    "minimality": Facts(
        "P(value given that no cut of the class was safe)",
        "people × worlds × cuts",
        f"sfumato attack minimality release {PLAYED} --worlds 500",
    ),
    "neighbourhood": Facts(
        "P(B > known) + ½ P(B = known), B ~ Bin(2 · known, 1 − μ)",
        f"{FLIP}; then pairs × `known`",
        "sfumato attack neighbourhood friends.tsv --mu 0.2",
    ),
    "one-person": Facts(
        "right guesses ≤ e^ε/(1 + e^ε)",
        "linear in the nodes for each trial; without `limit` the figures once, O(edges × largest degree)",
        "sfumato attack one-person friends.tsv --epsilon 1 --limit 32",
    ),
    "one-tie": Facts(
        "right guesses ≤ e^ε/(1 + e^ε)",
        "figures once, O(edges × largest degree); then linear in the nodes for each trial",
        "sfumato attack one-tie friends.tsv --epsilon 1",
    ),
    "re-execution": Facts(
        "mean of 1/candidates in the blocks or on the ring made again",
        "one run of the method, and O(nk)",
        f"sfumato attack re-execution release {PLAYED}",
    ),
    "structural": Facts(
        "share of trials in which the likelihood ratio of edges and degrees is largest at the planted accounts",
        f"{FLIP}; `beam` × degree × planted²/2, within `budget`",
        "sfumato attack structural friends.tsv --planted 12 --trials 5",
    ),
    "walk": Facts(
        "share of trials in which the path with equal degrees and edges is found",
        f"{FLIP}; the search grows with the nodes of the planted degrees, up to `limit`",
        "sfumato attack walk friends.tsv --planted 12 --trials 5",
    ),
}
