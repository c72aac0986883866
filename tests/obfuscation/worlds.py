"""Small problems with all their legal tables, by trying everything; and a chi-square test against them."""

import itertools
from collections import Counter

import numpy as np
from scipy.special import gammaincc

from sfumato.core.randomness import Randomness
from sfumato.kinds.testdata.methods.sampling.column_values import levels
from sfumato.kinds.testdata.methods.sampling.problem import SampledTable, SamplingProblem
from sfumato.kinds.testdata.methods.sampling.sampler_selection import routes, run
from sfumato.policy import value_domains
from sfumato.policy.constraint_language import bind, columns_of, parse
from sfumato.policy.constraint_language.evaluation import ConstraintEvaluator
from sfumato.policy.constraint_language.syntax_tree import References


def problem(domains, rules, count, original=None):
    """A single table with the given declared domains and rule texts."""
    read = {name: value_domains.read(declared) for name, declared in domains.items()}
    kinds = dict.fromkeys(original or {})
    kinds |= {name: None if isinstance(d, value_domains.Values) else d.kind for name, d in read.items()}
    bound = [bind(parse(text), kinds) for text in rules]
    return SamplingProblem(
        {None: SampledTable(count, {name: levels(d) for name, d in read.items()}, original or {})}, bound
    )


def texts(made):
    return {
        column.name: [t.decode() if isinstance(t, bytes) else str(t) for t in one.texts()]
        for column, one in made.items()
    }


def draw(asked, seed, fallback=None):
    found = routes(asked, fallback)
    return texts(run(asked, found, Randomness(seed=seed)))


READ = {}


class Remembering(ConstraintEvaluator):
    """The audit's evaluator, which reads equal cells once for all tables that hold them."""

    def column(self, column):
        cells = tuple((self.originals if column.original else self.tables)[column.table][column.name])
        if cells not in READ:
            READ[cells] = super().column(column)
        return READ[cells]


def judged(asked, table):
    """How often each rule is broken, told one after the other."""
    original = asked.sources[None].original
    links = [clause.body for clause in asked.clauses if isinstance(clause.body, References)]
    judge = Remembering({None: {**original, **table}}, {None: original}, links)
    return (judge.broken(rule) for rule in asked.rules)


def broken(asked, table):
    return list(judged(asked, table))


def all_tables(asked):
    """Every legal table, as a tuple of columns, by brute force and the audit's evaluator."""
    source = asked.sources[None]
    spaces = []
    for numbering in source.replaced.values():
        values = [t.decode() if isinstance(t, bytes) else str(t) for t in numbering.texts(np.arange(numbering.size))]
        spaces.append(list(itertools.product(values, repeat=source.count)))
    names = list(source.replaced)
    legal = _Legal(asked)
    return [one for one in itertools.product(*spaces) if legal(dict(zip(names, one, strict=True)))]


class _Legal:
    """Whether tables break no rule; tables with the same cells in the columns of a rule are judged once."""

    def __init__(self, asked):
        source = asked.sources[None]
        links = [clause.body for clause in asked.clauses if isinstance(clause.body, References)]
        self.judge = lambda table: Remembering({None: {**source.original, **table}}, {None: source.original}, links)
        self.rules = [
            (rule, [c.name for c in columns_of(rule) if c.name in source.replaced], {}) for rule in asked.rules
        ]

    def __call__(self, table):
        return all(self._holds(table, *one) for one in self.rules)

    def _holds(self, table, rule, names, known):
        cells = tuple(table[name] for name in names)
        if cells not in known:
            known[cells] = not self.judge(table).broken(rule)
        return known[cells]


def p_value(observed, expected):
    """Upper tail of chi-square over the cells of `expected` (a mapping to expected counts)."""
    assert set(observed) <= set(expected), "something illegal was drawn"
    statistic = sum((observed.get(cell, 0) - wanted) ** 2 / wanted for cell, wanted in expected.items())
    return float(gammaincc((len(expected) - 1) / 2, statistic / 2))


def uniformity(asked, draws, seed=1, fallback=None):
    """p-value of the hypothesis that every legal table is drawn equally often, and how many there are."""
    tables = all_tables(asked)
    found = routes(asked, fallback)
    names = list(asked.sources[None].replaced)
    counted = Counter()
    for turn in range(draws):
        table = texts(run(asked, found, Randomness(seed=seed * 1_000_003 + turn)))
        counted[tuple(tuple(table[name]) for name in names)] += 1
    return p_value(counted, dict.fromkeys(tables, draws / len(tables))), len(tables)
