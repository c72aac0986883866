"""Mutation testing of the audit: which small mistakes in its source would no test notice?

    python -m benchmarks.mutation cover                  # which test executes which line (needs `pip install coverage`)
    python -m benchmarks.mutation run --seed 1 --each 12 # sampled mutants of every area
    python -m benchmarks.mutation again                  # those that survived, with all tests of their area

A mutant is the source with one change: a comparison moved by one step or negated, a constant changed, `and` exchanged
with `or`, a condition made false, a returned value left out, a statement dropped. Mutants are drawn with the seed, the
same number in every area. Each runs in a copy of the tree with the tests that execute its line, quickest first, until
one fails. A line that no test executes survives at once. `again` runs all tests of an area, as a line may be executed
by one test (a cached release) and checked by another.
"""

from __future__ import annotations

import argparse
import ast
import csv
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks" / "results"
SOURCE = Path("src/sfumato")
MAP = Path(tempfile.gettempdir()) / "sfumato-mutation-map.json"
MOST_SECONDS = 25.0
"""Seconds of tests, as measured without a mutant, that one mutant gets."""

AREAS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "audit": (
        ("audit/certify.py", "audit/general_checks.py"),
        (
            "house/test_honesty.py", "house/test_tampering.py", "trust/test_fails_closed.py",
            "trust/test_stated_and_found.py", "trust/test_findings_say_what_was_checked.py",
            "trust/test_nothing_is_confirmed_unseen.py", "trust/test_first_version.py", "trust/test_seeds.py",
        ),
    ),
    "recount": (
        tuple(f"audit/recount/{name}.py" for name in (
            "definitions", "equivalence_classes", "files", "persons", "policy_text", "population", "recount",
        )),
        (
            "house/test_floor.py", "floor/test_definitions.py", "floor/test_other_forms.py", "floor/test_everybody.py",
            "floor/test_cut_lines.py", "floor/test_mutations.py", "trust/test_nothing_is_confirmed_unseen.py",
        ),
    ),
    "certificate": (
        ("release/certificate.py", "release/folder.py", "release/view.py"),
        ("house/test_honesty.py", "trust/test_links.py", "trust/test_evidence_of_others.py", "house/test_tampering.py"),
    ),
    "signature": (("release/signature.py",), ("trust/test_signatures.py",)),
    "judge": (
        tuple(f"history/judge/{name}.py" for name in (
            "earlier_requirements", "full_match_join", "sequence", "series",
        )),
        (
            "sequential/test_exact.py", "sequential/test_joins.py", "sequential/test_every_pair_of_claims.py",
            "sequential/test_standing_promises.py", "sequential/test_linking_assumption.py", "sequential/test_trap.py",
        ),
    ),
    "ledger": (
        tuple(f"history/ledger/{name}.py" for name in (
            "entries", "forgetting", "ledger", "person_files", "stored_releases",
        )),
        (
            "trust/test_ledgers.py", "sequential/test_ledger.py", "sequential/test_forgetting.py",
            "sequential/test_kept.py", "sequential/test_importing.py",
        ),
    ),
    "readers": (
        tuple(f"io/{name}.py" for name in (
            "basket_source", "csv_format", "file_contents", "frames", "graph_source", "hierarchy_files", "plain_files",
            "table_files", "table_source", "value_coding",
        )),
        (
            "reading/test_hostile_files.py", "reading/test_coded_files.py", "reading/test_layouts.py",
            "reading/test_numbers.py", "reading/test_quotes.py", "reading/test_given_frames.py",
            "house/test_bad_inputs.py", "graphs/test_graph_sources.py", "recoding/test_coding.py",
        ),
    ),
    "evidence": (
        (
            "kinds/person_evidence.py", "kinds/tables/evidence.py", "kinds/subtables/evidence.py",
            "kinds/baskets/evidence.py", "kinds/baskets/block_evidence.py", "kinds/graphs/evidence.py",
            "kinds/testdata/evidence.py",
        ),
        (
            "trust/test_permuted_columns.py", "trust/test_with_the_original.py", "trust/test_evidence_of_others.py",
            "baskets/test_verify_without_original.py", "people/test_linkage_of_people.py", "versatile/test_worlds.py",
        ),
    ),
    "checks": (
        (
            "kinds/tables/checks.py", "kinds/tables/truthfulness.py", "kinds/subtables/checks.py",
            "kinds/baskets/checks.py", "kinds/graphs/checks.py", "kinds/testdata/constraint_checks.py",
            "kinds/testdata/pattern_checks.py", "kinds/testdata/database_checks.py", "kinds/testdata/leaked_values.py",
        ),
        (
            "trust/test_with_the_original.py", "trust/test_permuted_columns.py", "trust/test_cover.py",
            "trust/test_columns_that_undo.py", "obfuscation/test_audit_rules.py", "patterns/test_localities.py",
            "graphs/test_recounting.py", "databases/test_audit_finds.py", "databases/test_surviving_values.py",
            "perturbing/test_perturbing.py",
        ),
    ),
}  # fmt: skip

COMPARED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
}  # fmt: skip
COMPUTED: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.FloorDiv, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult,
    ast.BitOr: ast.BitAnd, ast.BitAnd: ast.BitOr,
}  # fmt: skip
CALLED = {"any": "all", "all": "any", "min": "max", "max": "min"}


@dataclass(frozen=True)
class Mutant:
    """One change of one line."""

    area: str
    file: str
    line: int
    operator: str
    before: str
    after: str
    span: tuple[int, int, int, int]

    def applied(self, text: str) -> str:
        """Return the source with the change; what stands on other lines stays there."""
        first, left, last, right = self.span
        lines = text.splitlines(keepends=True)
        head = lines[first - 1].encode()[:left].decode()
        tail = lines[last - 1].encode()[right:].decode()
        changed = head + self.after + "\n" * (last - first if self.operator == "statement" else 0) + tail
        return "".join([*lines[: first - 1], changed, *lines[last:]])


class _Finder(ast.NodeVisitor):
    """All changes of a file."""

    def __init__(self, area: str, file: str, text: str) -> None:
        self.area, self.file, self.lines = area, file, text.splitlines(keepends=True)
        self.found: list[Mutant] = []
        self.visit(ast.parse(text))

    def _add(self, node: Any, operator: str, after: str) -> None:
        span = (node.lineno, node.col_offset, node.end_lineno, node.end_col_offset)
        before = " ".join(ast.unparse(node).split())
        self.found.append(Mutant(self.area, self.file, node.lineno, operator, before, after, span))

    def _wrapped(self, node: Any, operator: str, changed: ast.AST) -> None:
        self._add(node, operator, f"({ast.unparse(changed)})")

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        """Positions inside are not known."""

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.visit(node.value)

    def visit_arg(self, node: ast.arg) -> None:
        """Annotations are not run."""

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        for one in node.body:
            self.visit(one)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        for default in (*node.args.defaults, *node.args.kw_defaults):
            if default is not None:
                self.visit(default)
        for one in node.body:
            self.visit(one)

    def visit_Compare(self, node: ast.Compare) -> None:
        if len(node.ops) == 1:
            other = COMPARED[type(node.ops[0])]()
            self._wrapped(node, "comparison", ast.Compare(node.left, [other], node.comparators))
        self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        other = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        self._wrapped(node, "and/or", ast.BoolOp(other, node.values))
        self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        if isinstance(node.op, ast.Not):
            self._wrapped(node, "not", node.operand)
        self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        if type(node.op) in COMPUTED and not isinstance(node.left, ast.JoinedStr | ast.Constant):
            self._wrapped(node, "arithmetic", ast.BinOp(node.left, COMPUTED[type(node.op)](), node.right))
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        if isinstance(node.value, bool):
            self._add(node, "constant", str(not node.value))
        elif isinstance(node.value, int | float):
            self._add(node, "constant", repr(node.value + 1))

    def visit_Call(self, node: ast.Call) -> None:
        if isinstance(node.func, ast.Name) and node.func.id == "Wording":
            return
        if isinstance(node.func, ast.Name) and node.func.id in CALLED:
            self._add(node.func, "call", CALLED[node.func.id])
        self.generic_visit(node)

    def visit_If(self, node: ast.If) -> None:
        if ast.unparse(node.test) == "TYPE_CHECKING":
            return
        self._add(node.test, "condition", "False")
        self.generic_visit(node)

    def visit_Return(self, node: ast.Return) -> None:
        if node.value is not None and not isinstance(node.value, ast.Constant):
            self._add(node.value, "returned", "None")
        self.generic_visit(node)

    def visit_Raise(self, node: ast.Raise) -> None:
        self._add(node, "statement", "pass")

    def visit_Continue(self, node: ast.Continue) -> None:
        self._add(node, "statement", "pass")

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        self._add(node, "statement", "pass")
        self.generic_visit(node)

    def visit_Expr(self, node: ast.Expr) -> None:
        if isinstance(node.value, ast.Constant):
            return
        self._add(node, "statement", "pass")
        self.generic_visit(node)


def mutants(area: str) -> list[Mutant]:
    """Return all mutants of an area that compile."""
    made = []
    for file in AREAS[area][0]:
        text = (ROOT / SOURCE / file).read_text(encoding="utf-8")
        for one in _Finder(area, file, text).found:
            try:
                compile(one.applied(text), file, "exec")
            except SyntaxError:
                continue
            made.append(one)
    return made


def tests_of(area: str) -> tuple[str, ...]:
    """Return the test files of an area."""
    return tuple(f"tests/{name}" for name in AREAS[area][1])


def copied() -> Path:
    """Copy what tests need; the copy can be spoilt."""
    folder = Path(tempfile.mkdtemp(prefix="sfumato-mutants-"))
    for name in ("src", "tests", "benchmarks", "docs", "examples", "reference_pages"):
        shutil.copytree(
            ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__", "results", "baselines")
        )
    for name in ("pyproject.toml", "README.md", "CHANGELOG.md", "SECURITY.md", "mkdocs.yml"):
        shutil.copy(ROOT / name, folder / name)
    return folder


def environment(folder: Path) -> dict[str, str]:
    """Return the variables under which the copy is imported instead of the installed package."""
    paths = [str(folder / "src"), str(folder), str(folder / "benchmarks"), os.environ.get("PYTHONPATH", "")]
    own = {"PYTHONPATH": os.pathsep.join(filter(None, paths)), "PYTHONDONTWRITEBYTECODE": "1"}
    return os.environ | own | {"OMP_NUM_THREADS": "1", "POLARS_MAX_THREADS": "1"}


def _pytest(folder: Path, tests: list[str], seconds: float) -> tuple[str, str]:
    """Return what became of the tests, and the first that failed."""
    command = [sys.executable, "-m", "pytest", "-q", "-n", "0", "-x", "-p", "no:randomly", "-p", "no:cacheprovider"]
    try:
        ended = subprocess.run(
            [*command, "--tb=no", "-rfE", *tests], cwd=folder, env=environment(folder), capture_output=True, text=True,
            timeout=seconds,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return "timeout", ""
    if ended.returncode in (0, 5):
        return "survived", ""
    failed = [line for line in ended.stdout.splitlines() if line.startswith(("FAILED ", "ERROR "))]
    return "killed", (failed[0].split(" ", 1)[1].split(" - ")[0] if failed else "tests could not be collected")


class _Contexts:
    """A plugin of pytest: every test is a context of its own for `coverage`, and its seconds are kept."""

    def __init__(self) -> None:
        from coverage import Coverage

        self.seconds: dict[str, float] = defaultdict(float)
        self.cover = Coverage(data_file=None, source=[str(ROOT / SOURCE)])
        self.cover.start()

    def pytest_runtest_logstart(self, nodeid: str, location: Any) -> None:
        self.cover.switch_context(nodeid)

    def pytest_runtest_logreport(self, report: Any) -> None:
        self.seconds[report.nodeid] += report.duration

    def lines(self) -> dict[str, dict[int, list[str]]]:
        self.cover.stop()
        data, found = self.cover.get_data(), {}
        wanted = {str(ROOT / SOURCE / file): file for files, _ in AREAS.values() for file in files}
        for path in data.measured_files():
            if path in wanted:
                contexts = data.contexts_by_lineno(path)
                found[wanted[path]] = {line: [name for name in names if name] for line, names in contexts.items()}
        return found


def cover(files: list[str]) -> None:
    """Write which tests execute which lines; a run of some test files replaces what is known of them."""
    import pytest

    known = json.loads(MAP.read_text()) if MAP.exists() else {"seconds": {}, "lines": {}}
    watching = _Contexts()
    pytest.main(["-q", "-n", "0", "-p", "no:randomly", "--tb=short", *files], plugins=[watching])
    old = {node for node in known["seconds"] if node.split("::")[0] in files}
    seconds = {node: took for node, took in known["seconds"].items() if node not in old} | watching.seconds
    lines: dict[str, dict[str, list[str]]] = {}
    found = watching.lines()
    for file in {*known["lines"], *found}:
        lines[file] = {
            line: [one for one in names if one not in old] for line, names in known["lines"].get(file, {}).items()
        }
        for line, names in found.get(file, {}).items():
            lines[file][str(line)] = [*lines[file].get(str(line), []), *names]
    MAP.write_text(json.dumps({"seconds": seconds, "lines": lines}))


def _chosen(known: dict[str, Any], one: Mutant) -> list[str]:
    """Return the tests that execute a line, quickest first, as many as there is time for."""
    first, _, last, _ = one.span
    lines = known["lines"].get(one.file, {})
    names = {name for line in range(first, last + 1) for name in lines.get(str(line), [])}
    chosen, spent = [], 0.0
    for name in sorted(names, key=lambda name: (known["seconds"].get(name, 1.0), name)):
        spent += known["seconds"].get(name, 1.0)
        if spent > MOST_SECONDS and chosen:
            break
        chosen.append(name)
    return chosen


def judged(folder: Path, one: Mutant, tests: list[str], seconds: float) -> tuple[str, str]:
    """Return whether some test fails on a mutant."""
    place = folder / SOURCE / one.file
    right = place.read_text(encoding="utf-8")
    place.write_text(one.applied(right), encoding="utf-8")
    try:
        return _pytest(folder, tests, seconds)
    finally:
        place.write_text(right, encoding="utf-8")


def run(seed: int, each: int, areas: list[str], out: Path, slower: float) -> None:
    """Draw mutants and judge them; what is in the result file already is not run again."""
    known, folder = json.loads(MAP.read_text()), copied()
    done = {(row["file"], row["span"]) for row in _rows(out)}
    try:
        for area in areas:
            drawn = mutants(area)
            random.Random(f"{seed} {area}").shuffle(drawn)
            for one in drawn[:each]:
                if (one.file, str(one.span)) in done:
                    continue
                tests = _chosen(known, one)
                usual = sum(known["seconds"].get(name, 1.0) for name in tests)
                outcome, by = judged(folder, one, tests, 30 + slower * usual) if tests else ("not executed", "")
                _write(out, one, seed, len(tests), outcome, by)
                print(f"{area:12} {outcome:12} {one.file}:{one.line} {one.operator}: {one.before[:60]}", flush=True)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def again(areas: list[str], out: Path, seconds: float) -> None:
    """Run all tests of the area on those that survived."""
    folder, rows = copied(), _rows(out)
    try:
        for row in rows:
            if row["area"] not in areas or row["outcome"] not in ("survived", "not executed"):
                continue
            text = (ROOT / SOURCE / row["file"]).read_text(encoding="utf-8")
            found = [
                one for one in _Finder(row["area"], row["file"], text).found
                if (one.operator, one.before, one.after) == (row["operator"], row["before"], row["after"])
            ]  # fmt: skip
            one = min(found, key=lambda one: abs(one.line - int(row["line"])), default=None)
            if one is None:
                row["outcome"] = "gone"
                continue
            outcome, row["killed_by"] = judged(folder, one, list(tests_of(row["area"])), seconds)
            row["outcome"] = outcome if outcome != "survived" else row["outcome"]
            print(f"{row['area']:12} {row['outcome']:12} {row['file']}:{one.line} {row['before'][:60]}", flush=True)
            _save(out, rows)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


FIELDS = (
    "seed",
    "area",
    "file",
    "line",
    "operator",
    "before",
    "after",
    "span",
    "tests",
    "outcome",
    "killed_by",
    "note",
)


def _rows(out: Path) -> list[dict[str, str]]:
    if not out.exists():
        return []
    with out.open(newline="", encoding="utf-8") as lines:
        return list(csv.DictReader(lines))


def _save(out: Path, rows: list[dict[str, str]]) -> None:
    with out.open("w", newline="", encoding="utf-8") as lines:
        writer = csv.DictWriter(lines, FIELDS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def _write(out: Path, one: Mutant, seed: int, tests: int, outcome: str, by: str) -> None:
    row = {name: str(value) for name, value in asdict(one).items()}
    row |= {"seed": str(seed), "tests": str(tests), "outcome": outcome, "killed_by": by, "note": ""}
    _save(out, [*_rows(out), row])


def summary(out: Path) -> Iterator[str]:
    """Yield one line for every area: how many mutants, how many killed."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for row in _rows(out):
        counts[row["area"]][row["outcome"]] += 1
    for area, count in counts.items():
        killed = count["killed"] + count["timeout"]
        yield f"{area:12} {killed:4} of {count.total():4} killed ({killed / count.total():.0%})  {dict(count)}"


def main() -> None:
    """Run what the command line names."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("verb", choices=["cover", "run", "again", "summary", "count"])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--each", type=int, default=12)
    parser.add_argument("--areas", default=",".join(AREAS))
    parser.add_argument("--files", default="")
    parser.add_argument("--out", type=Path, default=RESULTS / "mutation.csv")
    parser.add_argument("--slower", type=float, default=8.0, help="how much slower than measured a test may be")
    given = parser.parse_args()
    areas = given.areas.split(",")
    if given.verb == "cover":
        chosen = given.files.split(",") if given.files else sorted({test for area in areas for test in tests_of(area)})
        cover(chosen)
    elif given.verb == "run":
        run(given.seed, given.each, areas, given.out, given.slower)
    elif given.verb == "again":
        again(areas, given.out, 600.0)
    elif given.verb == "count":
        print({area: len(mutants(area)) for area in areas})
    if given.verb != "count":
        print("\n".join(summary(given.out)))


if __name__ == "__main__":
    main()
