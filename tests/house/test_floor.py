"""The recount shares no code with the audit: it imports errors, limits, the standard library, YAML, and pyarrow for
Parquet."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

FLOOR = Path(__file__).parents[2] / "src" / "sfumato" / "audit" / "recount"
OWN = "sfumato.audit.recount"
LIBRARIES = {"yaml": {"policy_text.py"}, "pyarrow": {"files.py"}}


def imported(path: Path) -> set[str]:
    """Every module that a file imports, wherever in the file."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path.name}: relative import"
            names.add(str(node.module))
        elif isinstance(node, ast.Call) and getattr(node.func, "id", getattr(node.func, "attr", "")) in (
            "import_module",
            "__import__",
        ):
            raise AssertionError(f"{path.name} imports by name at run time")
    return names


@pytest.mark.parametrize("path", sorted(FLOOR.glob("*.py")), ids=lambda path: path.name)
def test_the_floor_imports_no_shared_ground(path: Path) -> None:
    for name in imported(path):
        top = name.split(".")[0]
        if top == "sfumato":
            assert name in ("sfumato.core.errors", "sfumato.core.limits") or name.startswith(OWN), (
                f"{path.name} imports {name}"
            )
        else:
            assert top in sys.stdlib_module_names or path.name in LIBRARIES.get(top, ()), f"{path.name} imports {name}"


def test_nothing_of_the_ground_is_loaded_with_the_floor() -> None:
    code = f"import sys, {OWN}; print(sorted(name for name in sys.modules if name.startswith('sfumato.')))"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    loaded = ast.literal_eval(out)
    assert set(loaded) == {"sfumato.core", "sfumato.core.errors", "sfumato.core.limits", "sfumato.audit"} | {
        name for name in loaded if name.startswith(OWN)
    }


def test_the_walk_sees_imports(tmp_path: Path) -> None:
    """The test above can fail."""
    (tmp_path / "one.py").write_text("def f():\n    from sfumato.data.linkage import Linkage\n")
    assert imported(tmp_path / "one.py") == {"sfumato.data.linkage"}
    (tmp_path / "two.py").write_text("import importlib\nimportlib.import_module('sfumato.models')\n")
    with pytest.raises(AssertionError, match="at run time"):
        imported(tmp_path / "two.py")


def test_what_the_floor_defines_is_what_the_catalogue_declares() -> None:
    """Two definitions of one model speak of the same parameters; a model that is not defined here is *not counted*, and
    says so."""
    from sfumato.audit.recount.definitions import DEFINITIONS
    from sfumato.core.registry import catalogue
    from sfumato.models.base import Model

    models = catalogue("models", Model)
    for name, definition in DEFINITIONS.items():
        model = models[name]
        assert set(definition.parameters) == set(model.model_fields), name
        assert definition.hides == model.needs_sensitive, name
        assert definition.joint == model.joint, name
        assert definition.at_most == {key for key, safer in model.levels.items() if safer == "less"}, name
        for parameter, default in definition.parameters.items():
            declared = model.model_fields[parameter]
            assert declared.is_required() if default is ... else declared.default == default, (name, parameter)
