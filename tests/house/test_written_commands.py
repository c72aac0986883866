"""Every command line in the README and in the documentation is run, in the order of its page, on data made for it."""

from __future__ import annotations

import re
import shlex
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
from blueprint import ROOT
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from tests.command_line import run

from sfumato.ui.demos import tables
from sfumato.ui.demos.tables import discharges
from sfumato.ui.reference_pages.policy_page import EXAMPLES

PAGES = [ROOT / "README.md", ROOT / "docs" / "index.md"]
SET_UP = ("pip ", "make ", "git ", "cd ", "pre-commit ", "python ", "openssl ", "ssh-keygen ", "export ", "psql ", "docker ")


def blocks(page: Path) -> list[str]:
    """The blocks of a page that hold commands: those that say so, and those without a word that begin with one."""
    found, language, lines = [], None, []
    for line in page.read_text(encoding="utf-8").splitlines():
        if line.startswith("```"):
            text = "\n".join(lines)
            if language in ("sh", "bash", "console") or (language == "" and text.startswith("sfumato ")):
                found.append(text)
            language, lines = (line[3:].strip(), []) if language is None else (None, [])
        elif language is not None:
            lines.append(line)
    return found


def command_lines(page: Path) -> list[str]:
    """The commands of a page, without remarks, continued lines joined."""
    lines = "\n".join(blocks(page)).replace("\\\n", " ").splitlines()
    bare = [re.sub(r"\s+#.*$", "", line).strip() for line in lines]
    return [line for line in bare if line and not line.startswith("#")]


COMMANDS = {page.name: command_lines(page) for page in PAGES}


def people(folder: Path) -> None:
    for path in EXAMPLES.iterdir():
        shutil.copy(path, folder)
    with sqlite3.connect(folder / "shop.db") as shop:
        shop.executescript((folder / "shop.sql").read_text(encoding="utf-8"))
    shutil.copy(folder / "people.csv", folder / "patients.csv")
    shutil.copy(folder / "first.yaml", folder / "policy.yaml")


def readme(folder: Path) -> None:
    people(folder)
    (policy,) = re.findall(r"^```yaml\n(.*?)^```", (ROOT / "README.md").read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    (folder / "policy.yaml").write_text(policy, encoding="utf-8")


def remembered(folder: Path) -> None:
    few(folder)
    text = (folder / "ledger.yaml").read_text(encoding="utf-8")
    (folder / "policy.yaml").write_text(text.replace("ledger: {file: people.ledger, new: true}\n", ""), encoding="utf-8")
    shutil.copy(folder / "people.csv", folder / "people-2024.csv")
    shutil.copy(folder / "people.csv", folder / "published-2024.csv")  # everything as it is, with its key: that is entered, too
    key = Ed25519PrivateKey.generate()
    private = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    (folder / "key.pem").write_bytes(private)
    (folder / "key.pem").chmod(0o600)
    public = serialization.PublicFormat.SubjectPublicKeyInfo
    (folder / "key.pub").write_bytes(key.public_key().public_bytes(serialization.Encoding.PEM, public))


def weighed(folder: Path) -> None:
    people(folder)
    lines = (folder / "people.csv").read_text(encoding="utf-8").splitlines()
    weighed = [lines[0] + ",w", *(f"{line},{20 + number % 3}" for number, line in enumerate(lines[1:]))]
    (folder / "patients.csv").write_text("\n".join(weighed) + "\n", encoding="utf-8")
    visits = [lines[0] + ",patient_id", *(f"{line},p{number // 2}" for number, line in enumerate(lines[1:]))]
    (folder / "visits.csv").write_text("\n".join(visits) + "\n", encoding="utf-8")


def spread(folder: Path) -> None:
    people(folder)
    columns = "columns: {name: identifier, age: other, sex: other, city: other, illness: other}\n"
    rules = "protect: ['age, sex -> illness : 2-diversity', 'illness -> city : 2-diversity']\n"
    (folder / "rules.yaml").write_text("version: 1\ndata: data.csv\n" + columns + rules, encoding="utf-8")
    lines = [line.split(",") for line in (folder / "people.csv").read_text(encoding="utf-8").splitlines()]
    (folder / "data.csv").write_text("\n".join(",".join(row[i] for i in (1, 2, 6, 5, 9)) for row in lines) + "\n", encoding="utf-8")
    assert run("publish", "rules.yaml", "--out", "release", "--no-report", cwd=folder).returncode == 0


def few(folder: Path) -> None:
    people(folder)
    lines = (folder / "people.csv").read_text(encoding="utf-8").splitlines()
    (folder / "people.csv").write_text("\n".join(lines[:101]) + "\n", encoding="utf-8")


def shop(folder: Path) -> None:
    people(folder)
    shutil.copy(folder / "database.yaml", folder / "shop.yaml")


FOLDERS: dict[str, Callable[[Path], None]] = {
    "README.md": readme, "index.md": people, "ledger.md": remembered, "risk.md": weighed, "rules.md": spread,
    "databases.md": shop, "explore.md": few,
}  # fmt: skip
SPELLED = {
    "postgresql://… --rows-only": "sqlite:///shop.db --rows-only",
    "postgresql://…": "sqlite:///shop.db",
    "--target URL": "--target sqlite:///test.db",
    " DIR": " folder",
    "9f2c…": "{head}",
    "ledger hospital.ledger --release r3": "ledger hospital.ledger --release r2",
    "ledger verify hospital.ledger --release r3": "ledger verify hospital.ledger --release r2",
    "verify r3 --ledger": "verify r2 --ledger",
    "--table orders": "--table purchase",
    'in (60-69, 70-79) and icd9 = diabetes"': 'in (60, 61) and illness = diabetes"',
    "--without zip": "--without sex",
    "--budget 60 --jobs 2": "--budget 0.3 --jobs 1",  # two processes take two seconds to begin
}


def spelled(line: str, folder: Path) -> str:
    for written, meant in SPELLED.items():
        line = line.replace(written, meant)
    if line.startswith("sfumato explore") and not {"--budget", "--choose"} & set(line.split()):
        line += " --budget 0.1"  # points that are not reached say so; the one that is chosen must be
    if "{head}" in line:
        shown = run("ledger", "verify", "hospital.ledger", cwd=folder).stdout
        line = line.replace("{head}", re.findall(r"[0-9a-f]{64}", shown)[-1])
    return line


@pytest.mark.parametrize("name", [name for name, lines in COMMANDS.items() if any(line.startswith("sfumato ") for line in lines)])
def test_every_command_of_a_page_runs(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "discharges", lambda count: discharges(count // 5))  # the demo of a smaller hospital
    FOLDERS.get(name, people)(tmp_path)
    for line in COMMANDS[name]:
        if not line.startswith("sfumato ") or line.startswith("sfumato studio"):
            continue  # the studio stays open until it is closed; its own tests open it
        command, _, target = spelled(line, tmp_path).partition(" > ")
        if "--new-ledger" not in command and "publish" in command and "--out r3" in command:
            (tmp_path / "hospital.ledger").unlink(missing_ok=True)
        done = run(*shlex.split(command)[1:], cwd=tmp_path)
        assert done.returncode == 0, f"{name}: {line}\n{done.stdout[-500:]}{done.stderr}"
        if target:
            (tmp_path / target.strip()).write_text(done.stdout, encoding="utf-8")


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_nothing_else_stands_in_a_block_of_commands(name: str) -> None:
    strange = [line for line in COMMANDS[name] if not line.startswith(("sfumato ", *SET_UP))]
    assert strange == []


def test_the_scenarios_of_the_readme_are_all_there_are() -> None:
    from sfumato.core.registry import catalogue
    from sfumato.ui.demos.scenario import Scenario

    table = (ROOT / "README.md").read_text(encoding="utf-8").split("--scenario NAME`")[1].split("```")[0]
    named = {name for line in table.splitlines() for name in re.findall(r"`(\w+)`", line.split(" | ")[0])}
    assert named == set(catalogue("demos", Scenario))


def test_the_readme_is_one_screen() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 60
