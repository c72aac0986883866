"""Files that were made to do harm, or that broke on the way: one line, an exit code of the contract, and soon."""

from __future__ import annotations

import gzip
import os
import time
import zlib
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.audit.recount.files import count_rows, read_columns, read_part
from sfumato.core import limits
from sfumato.core.errors import DataError, PolicyError, ReleaseError, SfumatoError
from sfumato.engines.local import HERE
from sfumato.io.file_contents import parse_json
from sfumato.io.graph_source import read_graph
from sfumato.io.table_files import read_exact, read_file
from sfumato.io.table_source import TableSource
from sfumato.policy.yaml_document import DEEPEST, parse_yaml, write_yaml
from tests.command_line import run
from tests.slow import SLOW

POLICY = """\
version: 1
data: {kind: table, source: SOURCE}
columns: {age: quasi-identifier, illness: sensitive}
protect: [{k-anonymity: {k: 2}}]
"""


def bomb(path: Path, megabytes: int) -> Path:
    """A gzip file of nearly nothing: a thousandth of what it unpacks to; one packed megabyte, again and again."""
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    names = packer.compress(b"age,illness\n") + packer.flush(zlib.Z_FULL_FLUSH)
    piece = packer.compress(b"1,2\n" * (1 << 18)) + packer.flush(zlib.Z_FULL_FLUSH)
    path.write_bytes(names + piece * megabytes + packer.flush())  # whoever reads to the end finds a sum that is wrong
    return path


@pytest.mark.parametrize("name", ["people.csv.gz", "ties.txt.gz"])
def test_a_small_file_with_gigabytes_inside_is_refused_while_unpacking(tmp_path: Path, name: str) -> None:
    import resource

    file = bomb(tmp_path / name, 400)
    assert file.stat().st_size < 2 << 20
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(DataError, match=r"unpacks to more than [\d,]+ MB") as caught:
        (read_graph if name.startswith("ties") else read_file)(file)  # type: ignore[operator]
    assert "unpack it" in caught.value.hint
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown < 1.5 * limits.MOST_TIMES * file.stat().st_size / 1024 + 200_000


def test_the_absolute_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "people.csv.gz").write_bytes(
        gzip.compress(b"age,illness\n" + os.urandom(40_000).hex().encode() + b",x\n")
    )
    assert read_file(tmp_path / "people.csv.gz").num_rows == 1
    monkeypatch.setattr(limits, "MOST_BYTES", 50_000)
    with pytest.raises(DataError, match="unpacks to more than"):
        read_file(tmp_path / "people.csv.gz")


def test_an_honest_packed_file_is_read(tmp_path: Path) -> None:
    text = "age,illness\n" + "".join(f"{i % 90},illness {i % 7}\n" for i in range(50_000))
    (tmp_path / "people.csv.gz").write_bytes(gzip.compress(text.encode()) + gzip.compress(b"91,last\n"))
    assert read_file(tmp_path / "people.csv.gz").num_rows == 50_001


def test_a_parquet_file_of_billions_of_equal_cells_is_refused_unread(tmp_path: Path) -> None:
    writer = pq.ParquetWriter(tmp_path / "people.parquet", pa.schema([("a", pa.string()), ("b", pa.string())]))
    constant = pa.repeat("x", 1_500_000)
    for _ in range(6):
        writer.write_table(pa.table({"a": constant, "b": constant}))
    writer.close()
    started = time.process_time()
    with pytest.raises(DataError, match="unpacks to more than"):
        read_file(tmp_path / "people.parquet")
    with pytest.raises(DataError, match="unpacks to more than"):
        HERE.count([tmp_path / "people.parquet"], ["a"])
    for read in (read_part, count_rows, lambda file: read_columns(file, frozenset(["a"]))):  # the floor reads by itself
        with pytest.raises(ReleaseError, match="far more cells"):
            read(tmp_path / "people.parquet")
    assert time.process_time() - started < 2


@pytest.mark.parametrize(
    "text",
    [
        "[" * 200_000,
        "version: 1\ndata: " + "[" * 200_000 + "]" * 200_000,
        "version: 1\ndata: " + "{a: " * 100_000,
        "version: 1\nkeep:\n" + "- " * 100_000 + "x",
        "\n".join(" " * depth + "a:" for depth in range(5000)),
        "? " * 100_000,
        "a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]\n",
        'version: "\\UFFFFFFFF"',
        'version: "\\ud800"',
        '"\\ud800": 1',
        "version: !!python/object/apply:os.system [ls]",
        "%YAML 1." + "9" * 5000 + "\n---\na: 1",
        "a: 1\n--- \nb: 2",
        "a: \0",
        "a: |" + "\n  x" * 10 + "\n\tb",
        "x" * (1 << 23) + ": 1",
    ],
    ids=lambda text: text[:12],
)
def test_hostile_yaml_is_a_policy_error_at_once(text: str) -> None:
    started = time.process_time()
    with pytest.raises(PolicyError) as caught:
        parse_yaml(text, name="policy.yaml")
    assert time.process_time() - started < 2
    assert "\n" not in str(caught.value)


def test_a_policy_may_be_as_deep_as_anybody_needs() -> None:
    depth = DEEPEST - 5
    nested = "a: {" + "b: {" * depth + "}" * depth + "}"
    assert parse_yaml(nested, name="p").tree


@settings(max_examples=300 if SLOW else 120, deadline=None)
@given(st.dictionaries(st.text(), st.text() | st.lists(st.text(st.characters(codec="utf-8")))), st.booleans())
def test_what_is_written_as_yaml_is_read_as_the_same(written: dict, compact: bool) -> None:
    """Whatever stands in names and values, line separators of other alphabets included."""
    assert parse_yaml(write_yaml({"version": "1", **written}, compact=compact), name="p").tree == {
        "version": "1",
        **written,
    }


SIGNS = st.sampled_from(
    ["a: 1", "b: ", "- x", "  ", "\n", "\n  ", ": ", *"{}[],'\"#|>~&*!%?-\t\ufeff\u2028\x85é", "null", "---", "..."]
)


@settings(max_examples=400, deadline=None)
@given(st.lists(SIGNS, max_size=14).map("".join))
def test_the_fast_reader_takes_nothing_that_the_plain_one_refuses(text: str) -> None:
    def read() -> object:
        try:
            document = parse_yaml(text, name="p")
            return document.tree, document.lines
        except PolicyError:
            return None

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sfumato.policy.yaml_document._FAST", yaml.SafeLoader)
        plainly = read()
    assert read() == plainly


@settings(max_examples=300, deadline=None)
@given(st.text(st.sampled_from("ab:{}[]-?&*!|>%@`\"'#, \n\t\\u0d8"), max_size=60))
def test_any_text_is_yaml_or_a_policy_error(text: str) -> None:
    try:
        parse_yaml(text, name="p")
    except PolicyError as error:
        assert "p" in error.where


leaf = st.one_of(st.none(), st.text("ab1%:.-", max_size=4), st.integers(-3, 10**6), st.floats(), st.booleans())
tree = st.recursive(
    leaf, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("abk", max_size=3), inner, max_size=3)
)
entries = st.fixed_dictionaries(
    {},
    optional={
        "data": tree
        | st.dictionaries(
            st.sampled_from(["kind", "source", "missing", "line_breaks", "base", "published"]), tree, max_size=2
        ),
        "columns": tree
        | st.dictionaries(
            st.text("ab", min_size=1, max_size=2),
            st.dictionaries(st.sampled_from(["role", "hierarchy", "boundary", "publish", "domain"]), tree, max_size=3),
            max_size=2,
        ),
        "utility": tree | st.dictionaries(st.sampled_from(["minimize", "suppress_at_most"]), tree, max_size=2),
        "method": tree,
        "ledger": tree,
        "key": tree,
        "keep": tree,
    },
)


@settings(max_examples=500 if SLOW else 180, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(entries)
def test_any_tree_is_a_policy_or_a_policy_error(given_tree: dict) -> None:
    try:
        sf.Policy.parse({"version": 1, **given_tree})
    except PolicyError as error:
        assert "\n" not in error.what


@pytest.mark.parametrize("key", ["base", "published"])
def test_what_the_house_knows_by_itself_is_no_key_of_a_policy(key: str) -> None:
    with pytest.raises(PolicyError, match=f"unknown key '{key}'"):
        sf.Policy.parse({"version": 1, "data": {"kind": "table", key: "x"}})


@pytest.mark.parametrize(
    "text",
    ["[" * 200_000, '{"a":' * 200_000, '{"a": NaN}', '{"a": 1, "a": 2}', "{", "1" * 5000, '{"a": -Infinity}', "\x00"],
    ids=lambda t: t[:8],
)
def test_hostile_json_is_a_value_error(text: str) -> None:
    with pytest.raises(ValueError):
        parse_json(text)


# ---- tables ----------------------------------------------------------------------------------------------------------

CONTENTS = {
    "empty": (b"", "empty"),
    "only blank lines": (b"\n\n\n", "empty"),
    "only a header": (b"age,illness\n", "no rows"),
    "only a header without an end": (b"age,illness", "no rows"),
    "only a mark": (b"\xef\xbb\xbf", "empty"),
    "too few values": (b"age,illness\n1,a\nSecret\n", "1 values where the header names 2"),
    "too many values": (b"age,illness\n1,a\n1,a,Secret\n", "3 values where the header names 2"),
    "NUL late": (b"age,illness\n" + b"1,a\n" * 5000 + b"2,Sec\0ret\n", "NUL"),
    "UTF-16 without a mark": ("age,illness\n1,Secret\n".encode("utf-16-le"), "UTF-8"),
    "UTF-32": ("age,illness\n1,Secret\n".encode("utf-32"), "UTF-8"),
    "half a character": (b"age,illness\n1,\xed\xa0\x80\n", "UTF-8"),
    "a column twice": (b"age,age\n1,2\n", "stands twice"),
    "a column without a name": (b"age,,illness\n1,2,3\n", "no name"),
    "a very long record": (b'age,illness\n1,"' + b"x" * (40 << 20) + b'"\n', "longer than 16 MB"),
    "a very long name": (b"x" * 200_000 + b",illness\n1,2\n", "header cannot be read"),
    "a picture": (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "UTF-8"),
}


@pytest.mark.parametrize("kind", CONTENTS)
def test_a_broken_csv_file_is_a_data_error(tmp_path: Path, kind: str) -> None:
    content, what = CONTENTS[kind]
    for name, packed in (("people.csv", content), ("people.csv.gz", gzip.compress(content, 1))):
        (tmp_path / name).write_bytes(packed)
        with pytest.raises(DataError, match=what) as caught:
            TableSource().read(tmp_path / name)
        assert "Secret" not in str(caught.value)
        assert "\n" not in str(caught.value)
        assert name in str(caught.value)


@pytest.mark.parametrize("line", [3, 5000])
def test_a_ragged_row_is_named_by_its_line(tmp_path: Path, line: int) -> None:
    for end in ("\n", "\r\n", "\r", "\n\n", '\n"1\n1",a\r\n'):
        text = "age,illness\n" + "1,a\n" * (line - 2) + end + "1,a,b\n" + "1,a\n" * 10
        (tmp_path / "people.csv").write_bytes(text.encode())
        with pytest.raises(DataError) as caught:
            read_file(tmp_path / "people.csv")
        assert caught.value.where.endswith(f"people.csv:{line + len(end.encode().splitlines())}")


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
@pytest.mark.parametrize("last", [True, False])
def test_every_line_end_and_the_mark_of_some_editors(tmp_path: Path, end: str, mark: str, last: bool) -> None:
    text = mark + end.join(["age,illness", "1,a", "2,b"]) + (end if last else "")
    (tmp_path / "people.csv").write_bytes(text.encode())
    assert TableSource().read(tmp_path / "people.csv").frame.to_pylist() == [
        {"age": "1", "illness": "a"},
        {"age": "2", "illness": "b"},
    ]


def test_mixed_line_ends_give_one_record_a_line(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_bytes(b"age,illness\r\n1,a\n2,b\r3,c\r\n\n\r\n4,d")
    assert TableSource().read(tmp_path / "people.csv").text("age").labels == ("1", "2", "3", "4")


@pytest.mark.parametrize("names", ["a;b;c,x", "a|b,x", "a\tb,x", '"a,b,c";x'])
def test_separators_inside_names_are_no_separators(tmp_path: Path, names: str) -> None:
    separator = ";" if names.startswith('"') else ","
    (tmp_path / "people.csv").write_text(f"{names}\n1{separator}2\n3{separator}4\n")
    assert read_file(tmp_path / "people.csv").num_columns == 2


@pytest.mark.parametrize("damage", ["cut", "flipped", "other", "empty", "text"])
@pytest.mark.parametrize("read", [read_file, read_exact])
def test_a_broken_parquet_file_is_a_data_error(tmp_path: Path, damage: str, read: object) -> None:
    file = tmp_path / "people.parquet"
    pq.write_table(pa.table({"age": ["1"] * 100, "illness": ["Secret"] * 100}), file)
    whole = file.read_bytes()
    broken = {
        "cut": whole[: len(whole) // 2],
        "flipped": whole[:-60] + bytes(255 - byte for byte in whole[-60:-8]) + whole[-8:],
        "other": b"PAR1" + b"\xff" * 64 + b"\x40\0\0\0PAR1",
        "empty": b"",
        "text": b"age,illness\n1,Secret\n",
    }[damage]
    file.write_bytes(broken)
    with pytest.raises(DataError, match="no readable Parquet") as caught:
        read(file)  # type: ignore[operator]
    assert "Secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("table", "what"),
    [
        (pa.table([pa.array(["1"]), pa.array(["2"])], names=["a", "a"]), "same name"),
        (pa.table({"a": [[1]], "b": [{"c": [{"d": 1}]}]}), "no single value"),
        (pa.table({"a": pa.array([], pa.string())}), "no rows"),
        (pa.table({"": ["1"]}), "no name"),
        (pa.table({"a\nb": ["1"]}), "line break"),
        (pa.table({"a": [b"\xff\xff"]}), "no single value"),
    ],
    ids=str,
)
def test_a_parquet_file_with_a_strange_schema(tmp_path: Path, table: pa.Table, what: str) -> None:
    pq.write_table(table, tmp_path / "people.parquet")
    with pytest.raises(DataError, match=what):
        TableSource().read(tmp_path / "people.parquet")


def test_folders_above_a_parquet_file_add_no_columns(tmp_path: Path) -> None:
    (tmp_path / "name=Secret").mkdir()
    pq.write_table(pa.table({"age": ["1"]}), tmp_path / "name=Secret" / "people.parquet")
    assert read_file(tmp_path / "name=Secret" / "people.parquet").column_names == ["age"]


@settings(max_examples=300, deadline=None)
@given(
    st.binary(max_size=60) | st.text(st.sampled_from('a1,;"\n\r\t é\0'), max_size=60).map(str.encode),
    st.sampled_from(["csv", "csv.gz", "parquet", "tsv"]),
)
def test_any_bytes_are_a_table_or_a_data_error(one_folder: Path, content: bytes, ending: str) -> None:
    """The class: no bytes whatever give a traceback, and what is read has a value for every column of every line."""
    file = one_folder / f"people.{ending}"
    file.write_bytes(content)
    try:
        table = TableSource().read(file)
    except SfumatoError as error:
        assert error.exit_code == 3
        assert "\n" not in str(error)
    else:
        lines = [line for line in content.removeprefix(b"\xef\xbb\xbf").splitlines() if line or len(table.names) == 1]
        assert table.rows == len(lines) - 1


@pytest.mark.parametrize(
    "content", [b"<a>" * 100_000, "<graphml/>".encode("utf-16"), b"<!DOCTYPE x><graphml/>", b"", b"\xff\xfe<\0"]
)
def test_a_hostile_graph_is_a_data_error(tmp_path: Path, content: bytes) -> None:
    for name in ("ties.graphml", "ties.csv") if b"DOCTYPE" not in content else ("ties.graphml",):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(DataError):
            read_graph(tmp_path / name)


@pytest.mark.parametrize(
    ("name", "content", "code"),
    [
        ("people.csv", b"age,illness\n1,a\0\n", 3),
        ("people.csv.gz", b"\x1f\x8b nothing", 3),
        ("people.parquet", b"PAR1PAR1", 3),
        ("people.xlsx", b"PK", 3),
    ],
)
def test_commands_say_one_line_and_the_code_of_the_contract(
    tmp_path: Path, name: str, content: bytes, code: int
) -> None:
    (tmp_path / name).write_bytes(content)
    (tmp_path / "policy.yaml").write_text(POLICY.replace("SOURCE", name))
    for arguments in (["publish", "policy.yaml", "--out", "out"], ["check", "policy.yaml"]):
        done = run(*arguments, cwd=tmp_path)
        if arguments[0] == "publish":
            assert done.returncode == code, done.stderr
            assert done.stderr.count("\n") == 1
        assert "Traceback" not in done.stderr
        assert "unexpected" not in done.stderr


@pytest.mark.parametrize("name", ["a\nb", "\x1b[31m", "\u2028", "a\r", "\x00"])
def test_an_error_is_one_line_whatever_it_names(name: str) -> None:
    for tree in (
        {name: 1},
        {"utility": {name: 1}},
        {"columns": {"a": {"role": "quasi-identifier", "hierarchy": f"{name}.csv"}}},
    ):
        with pytest.raises(SfumatoError) as caught:
            sf.publish(
                sf.Policy.parse({"version": 1, "protect": [{"k-anonymity": {"k": 1}}], **tree}), data={"a": ["1"]}
            )
        assert str(caught.value).isprintable()


@pytest.mark.parametrize("name", ["x" * 5000, "x/" * 3000, "a\0b"])
def test_a_name_that_no_file_can_have(name: str) -> None:
    for kind in ("table", "graph", "baskets"):
        with pytest.raises(DataError):
            sf.publish(sf.Policy.parse({"version": 1, "data": {"kind": kind, "source": f"{name}.csv"}, **NEEDED[kind]}))
    column = {"role": "quasi-identifier", "hierarchy": name}
    with pytest.raises(PolicyError, match="no such hierarchy file"):
        sf.publish(
            sf.Policy.parse({"version": 1, "columns": {"a": column}, "protect": [{"k-anonymity": {"k": 1}}]}),
            data={"a": ["1"]},
        )


NEEDED = {
    "table": {"columns": {"a": "quasi-identifier"}, "protect": [{"k-anonymity": {"k": 1}}]},
    "graph": {"protect": [{"k-degree-anonymity": {"k": 1}}]},
    "baskets": {"protect": [{"k-anonymity": {"k": 1}}]},
}


@pytest.mark.parametrize("depth", [60, 400, 100_000])
def test_a_policy_built_in_code_is_no_deeper_than_one_in_a_file(depth: int) -> None:
    tree: object = "leaf"
    for _ in range(depth):
        tree = {"a": tree}
    with pytest.raises(PolicyError, match="deep"):
        sf.Policy.parse({"version": 1, "columns": {"a": {"role": "quasi-identifier", "hierarchy": tree}}})


def test_bytes_that_are_no_text_in_a_ragged_row(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "people.csv").write_bytes(b"age,illness\n1,a\n2,\xac,b\n")
    with pytest.raises(DataError, match="3 values where the header names 2"):
        read_file(tmp_path / "people.csv")
    assert capfd.readouterr().err == ""
