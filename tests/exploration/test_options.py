"""What would bring a column back: every option is tried on the data, and its figures are those of a release."""

from __future__ import annotations

import random
from pathlib import Path

from click.testing import CliRunner

import sfumato as sf
from sfumato.io.table_source import TableSource
from sfumato.policy.yaml_document import write_yaml
from sfumato.ui.cli import root
from sfumato.workflow.column_options import options_for
from sfumato.workflow.forecast import forecast_publish

DRAW = random.Random(8)
PEOPLE = {
    "born": [f"{DRAW.randrange(1940, 2000)}-{DRAW.randrange(1, 13):02}-{DRAW.randrange(1, 28):02}" for _ in range(300)],
    "town": [f"town {DRAW.randrange(60)}" for _ in range(300)],
    "illness": [DRAW.choice(["flu", "gout", "cold"]) for _ in range(300)],
}
TREE = {
    "version": 1,
    "columns": {"born": "quasi-identifier", "town": "quasi-identifier", "illness": "sensitive"},
    "protect": [{"k-anonymity": {"k": 6}}, {"l-diversity": {"l": 2}}],
}


def test_every_option_has_the_figures_of_a_release() -> None:
    found = options_for(sf.Policy.parse(TREE), "born", TableSource().read(PEOPLE))
    changes = {one.change: one for one in found.options}
    assert found.now.suppressed > 0.9 and len(changes) == found.tried >= 4
    fitted = changes["give 'born' the hierarchy {'dates': ['month', 'year', 'decade']}"]
    assert fitted.suppressed < found.now.suppressed - 0.3
    assert "k = 3 instead of 6" in changes and "leave 'town' out" in changes
    assert [one.suppressed for one in found.options] == sorted(one.suppressed for one in found.options)


def test_check_prints_them_for_a_column_that_vanishes(tmp_path: Path) -> None:
    lines = [",".join(PEOPLE), *(",".join(row) for row in zip(*PEOPLE.values(), strict=True))]
    (tmp_path / "people.csv").write_text("\n".join(lines) + "\n")
    policy = sf.Policy.parse({**TREE, "data": {"kind": "table", "source": "people.csv"}}, base=tmp_path)
    foresight = forecast_publish(policy, tried=True)
    assert foresight.options is not None and foresight.to_json()["forecast"]["options"]["column"] in ("born", "town")
    written = write_yaml({**TREE, "data": {"kind": "table", "source": "people.csv"}})
    (tmp_path / "policy.yaml").write_text(written)
    shown = CliRunner().invoke(root, ["check", str(tmp_path / "policy.yaml")])
    assert shown.exit_code == 0 and "What would bring" in shown.output and "give '" in shown.output
