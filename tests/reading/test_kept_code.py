"""Kept compiled code is run as it is found: it is taken only from where nobody else can put it."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from sfumato import compiled


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """A directory that its owner alone can write, as are those above it."""
    directory = tmp_path / "a" / "b" / "kernels"
    directory.mkdir(parents=True, mode=0o700)
    for path in (tmp_path, tmp_path / "a", tmp_path / "a" / "b", directory):
        path.chmod(0o700)
    (directory / "code.nbi").write_bytes(b"")
    (directory / "code.nbi").chmod(0o600)
    return directory


def test_an_own_directory_is_taken(own: Path) -> None:
    assert compiled.is_ours_alone(own)
    own.chmod(0o755)
    assert compiled.is_ours_alone(own)


@pytest.mark.parametrize("bits", [stat.S_IWOTH, stat.S_IWGRP, stat.S_IWGRP | stat.S_IWOTH])
@pytest.mark.parametrize("which", ["", "code.nbi", "..", "../.."])
def test_a_place_that_others_can_write_is_not(own: Path, which: str, bits: int) -> None:
    place = (own / which).resolve()
    place.chmod(place.stat().st_mode | bits)
    assert not compiled.is_ours_alone(own)


def test_above_a_sticky_directory_will_do_and_the_directory_itself_will_not(own: Path) -> None:
    own.parent.chmod(0o1777)
    assert compiled.is_ours_alone(own)
    own.chmod(0o1777)
    assert not compiled.is_ours_alone(own)


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give things away")
@pytest.mark.parametrize("which", ["", "code.nbi", "..", "../.."])
def test_a_place_of_somebody_else_is_not(own: Path, which: str) -> None:
    place = (own / which).resolve()
    os.chown(place, 12345, 12345)
    assert not compiled.is_ours_alone(own)


def test_a_link_is_followed_to_where_the_code_lies(own: Path) -> None:
    link = own.parent / "link"
    link.symlink_to(own)
    assert compiled.is_ours_alone(link)
    own.chmod(0o777)
    assert not compiled.is_ours_alone(link)


@pytest.mark.parametrize("mode", [0o777, 0o775, 0o1777])
def test_code_is_compiled_without_keeping_where_others_can_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: int
) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(shared))
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    compiled._cache_directory.cache_clear()
    try:
        kept = compiled._cache_directory()
        assert kept.startswith(str(shared))
        assert stat.S_IMODE(Path(kept).stat().st_mode) == 0o700
        for path in (Path(kept), *([] if mode == 0o1777 else [shared])):
            path.chmod(mode)
        compiled._cache_directory.cache_clear()
        assert compiled._cache_directory() == ""

        def double(x: int) -> int:
            return x + x

        assert compiled.jit(double)(21) == 42
    finally:
        compiled._cache_directory.cache_clear()
