"""Kept compiled code is run as it is found: it is taken only from where nobody else can put it."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from sfumato.core.compiled import jit, numba_fallback
from sfumato.core.compiled.cache import cache_directories_to_read, cache_directory, is_ours_alone


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
    assert is_ours_alone(own)
    own.chmod(0o755)
    assert is_ours_alone(own)


@pytest.mark.parametrize("bits", [stat.S_IWOTH, stat.S_IWGRP, stat.S_IWGRP | stat.S_IWOTH])
@pytest.mark.parametrize("which", ["", "code.nbi", "..", "../.."])
def test_a_place_that_others_can_write_is_not(own: Path, which: str, bits: int) -> None:
    place = (own / which).resolve()
    place.chmod(place.stat().st_mode | bits)
    assert not is_ours_alone(own)


def test_above_a_sticky_directory_will_do_and_the_directory_itself_will_not(own: Path) -> None:
    own.parent.chmod(0o1777)
    assert is_ours_alone(own)
    own.chmod(0o1777)
    assert not is_ours_alone(own)


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give things away")
@pytest.mark.parametrize("which", ["", "code.nbi", "..", "../.."])
def test_a_place_of_somebody_else_is_not(own: Path, which: str) -> None:
    place = (own / which).resolve()
    os.chown(place, 12345, 12345)
    assert not is_ours_alone(own)


def test_a_link_is_followed_to_where_the_code_lies(own: Path) -> None:
    link = own.parent / "link"
    link.symlink_to(own)
    assert is_ours_alone(link)
    own.chmod(0o777)
    assert not is_ours_alone(link)


@pytest.fixture
def shared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The only directory in which code can be kept."""
    directory = tmp_path / "shared"
    directory.mkdir()
    monkeypatch.delenv("SFUMATO_CACHE", raising=False)
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(directory))
    monkeypatch.setenv("SFUMATO_LOOPS", "numba")
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    forget()
    yield directory
    forget()


def forget() -> None:
    """The directory is looked for anew."""
    cache_directory.cache_clear()
    numba_fallback._directory.cache_clear()


def double(x: int) -> int:
    return x + x


def test_code_is_kept_in_a_directory_made_for_its_owner_alone(shared: Path) -> None:
    kept = Path(cache_directory())
    assert kept.parent == shared
    assert stat.S_IMODE(kept.stat().st_mode) == 0o700
    assert cache_directories_to_read() == [kept]
    assert jit(double)(21) == 42
    assert list(kept.rglob("*.nbi"))


@pytest.mark.parametrize("mode", [0o777, 0o775, 0o1777])
def test_code_is_compiled_without_keeping_where_others_can_write(shared: Path, mode: int) -> None:
    kept = Path(cache_directory())
    for path in (kept, *([] if mode == 0o1777 else [shared])):
        path.chmod(mode)
    forget()
    assert cache_directory() == ""
    assert cache_directories_to_read() == []
    assert jit(double)(21) == 42
    assert not list(shared.rglob("*.nb?"))


def test_a_user_without_a_home_keeps_nothing_and_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HOME", "XDG_CACHE_HOME", "SFUMATO_CACHE", "NUMBA_CACHE_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("os.getuid", lambda: 4_294_967_000)
    cache_directory.cache_clear()
    assert (cache_directory(), cache_directories_to_read()) == ("", [])
    cache_directory.cache_clear()
