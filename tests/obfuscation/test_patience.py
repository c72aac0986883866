"""The solver says beforehand how long it takes, keeps to a budget and goes on where it was stopped; contradictions are
named."""

import json
import re
import stat

import pyarrow as pa
import pytest

from sfumato.core.errors import DataError, Infeasible
from sfumato.core.randomness import Randomness
from sfumato.data.table import Table
from sfumato.kinds.testdata.methods.obfuscation import Obfuscation
from sfumato.kinds.testdata.methods.sampling.solver_blocks import Blocks
from sfumato.policy.constraint_language import parse
from sfumato.policy.constraint_language.evaluation import ConstraintEvaluator
from sfumato.policy.policy import Policy
from sfumato.release.method import Task
from tests.secret import SEED

ROWS, BLOCK = 40, 8
RULES = ("unique(x)", f"sum(x) = {sum(range(0, 2 * ROWS, 2))}")
"""Different numbers with a total: no direct engine has both."""


def table():
    return Table(pa.table({"x": [str(2 * place) for place in range(ROWS)]}))


def policy(*rules, high=99, **settings):
    method = {"obfuscation": {"block": BLOCK, **settings}}
    columns = {"x": {"role": "replaced", "domain": {"integers": [0, high]}}}
    return Policy.parse({"version": 1, "columns": columns, "keep": list(rules or RULES), "method": method})


def made(file, progress=None, seed=None, **settings):
    method = Obfuscation(block=BLOCK, **settings)
    task = Task(
        policy(**settings), table(), Randomness(seed), unfinished=file, **({"progress": progress} if progress else {})
    )
    return method.run(task).parts["data"].table.column("x").to_pylist()


def stopping(after):
    """Progress that ends the run like a key would."""
    told = []

    def progress(done, what):
        told.append(done)
        if len(told) == after:
            raise KeyboardInterrupt

    return progress


@pytest.fixture
def solved(monkeypatch):
    """How many blocks were given to the solver."""
    count, answer = [], Blocks.answer
    monkeypatch.setattr(Blocks, "answer", lambda self, task: count.append(1) or answer(self, task))
    return count


def test_a_run_that_was_stopped_goes_on(tmp_path, solved):
    file = tmp_path / "release.unfinished"
    with pytest.raises(KeyboardInterrupt):
        made(file, stopping(3))
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    kept = len([line for line in file.read_text().splitlines() if "task" in json.loads(line)])
    assert 0 < kept < ROWS // BLOCK
    solved.clear()
    new = made(file)
    assert len(solved) == ROWS // BLOCK - kept
    assert [ConstraintEvaluator({None: {"x": new}}).broken(parse(rule)) for rule in RULES] == [0, 0]


def test_a_run_that_was_stopped_makes_what_it_would_have_made(tmp_path):
    with pytest.raises(KeyboardInterrupt):
        made(tmp_path / "one", stopping(2), seed=SEED)
    (tmp_path / "one").write_text((tmp_path / "one").read_text() + '{"task": "cut o')
    assert made(tmp_path / "one", seed=SEED) == made(tmp_path / "two", seed=SEED)


def test_the_file_of_another_policy_is_refused(tmp_path):
    made(tmp_path / "file")
    with pytest.raises(DataError, match="another policy"):
        made(tmp_path / "file", variety="hint")


def test_the_budget_is_kept_and_the_next_run_goes_on(tmp_path, solved):
    with pytest.raises(Infeasible, match="minutes: 0 of about 5 blocks"):
        made(tmp_path / "file", minutes=1e-12)
    assert not solved


def test_check_says_how_long_it_will_take():
    said = Obfuscation(block=BLOCK).describe(policy(), table())
    assert any(re.search(r"part x: 5 block\(s\) for the constraint solver, about \d+ s", sentence) for sentence in said)
    said = Obfuscation(block=BLOCK, minutes=1e-9).describe(policy(), table())
    assert any("more than 'minutes: 1e-09' allow" in sentence for sentence in said)


@pytest.mark.parametrize(
    ("rules", "named"),
    [
        (("x >= 2", "x > 50", "x != 7", "x < 20"), ("x > 50", "x < 20")),
        (("x >= 1", "x <= 10", "sum(x) = 2000", "x != 5"), ("x <= 10", "sum(x) = 2000")),
        (
            ("x % 2 = 0", "quantile(x, 0.25) = 10", "median(x) = 8", "quantile(x, 0.75) = 12"),
            ("quantile(x, 0.25) = 10", "median(x) = 8"),
        ),
        (("x != 3", "x <= 20", "unique(x)"), ("x <= 20", "unique(x)")),
    ],
)
def test_the_smallest_contradiction_is_named(rules, named):
    with pytest.raises(Infeasible) as told:
        Obfuscation().describe(policy(*rules), table())
    said = f"{told.value.what} {told.value.where}"
    assert [rule for rule in rules if f'"{rule}"' in said] == list(named)
