"""Files that are written completely or not at all."""

import errno
import os
import stat
import sys
import threading
import time

import pytest

from sktopic._runtime import _files
from sktopic._runtime._files import write_file

from .conftest import press_ctrl_c

OLD, NEW = b"old content", b"new content, which is longer"


def write_new(file):
    file.write(NEW)


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(OLD)
    return path


def content_of(folder):
    return {entry.name: entry.read_bytes() for entry in folder.iterdir()}


def test_new_file_has_the_content_and_usual_permissions(tmp_path):
    write_file(tmp_path / "file", write_new)
    (tmp_path / "other").write_bytes(b"")
    assert content_of(tmp_path) == {"file": NEW, "other": b""}
    assert (tmp_path / "file").stat().st_mode == (tmp_path / "other").stat().st_mode


@pytest.mark.skipif(os.name == "nt", reason="has no such permissions")
@pytest.mark.parametrize("kind", [str, os.fsencode, lambda path: path])
def test_earlier_file_is_replaced_and_its_permissions_stay(path, kind):
    path.chmod(0o640)
    write_file(kind(path), write_new)
    assert content_of(path.parent) == {"file": NEW}
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_symbolic_link_stays_one(path):
    link = path.parent / "link"
    link.symlink_to("file")
    write_file(link, write_new)
    assert link.is_symlink()
    assert content_of(path.parent) == {"file": NEW, "link": NEW}


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="has no owners of links")
def test_symbolic_link_of_another_user_is_not_followed(path, monkeypatch):
    """Nor is one that a link of this user leads to; a link at a name that we choose is replaced."""
    link, ours, own = (path.parent / name for name in ("link", "ours", "own"))
    link.symlink_to("file")
    make_foreign(link, monkeypatch)
    ours.symlink_to("link")
    for target in link, ours, f"{link}{os.sep}":
        with pytest.raises(PermissionError, match="is a symbolic link of another user"):
            write_file(target, fail(AssertionError))
    assert content_of(path.parent) == dict.fromkeys(("file", "link", "ours"), OLD)
    for target in "file", ".", "none":
        own.unlink(missing_ok=True)
        own.symlink_to(target)
        write_file(own, write_new, follow=False)
        assert not own.is_symlink() and own.read_bytes() == NEW
    assert path.read_bytes() == OLD


def make_foreign(link, monkeypatch):
    """Give a link to another user, or pretend that this process is of another."""
    user = os.geteuid()
    if user == 0:
        os.lchown(link, 65534, 65534)
    else:
        monkeypatch.setattr(os, "geteuid", lambda: user + 1)


@pytest.mark.skipif(os.name == "nt", reason="has no such links")
def test_links_that_lead_to_each_other_are_an_error(tmp_path):
    (tmp_path / "one").symlink_to("other")
    (tmp_path / "other").symlink_to("one")
    with pytest.raises(OSError, match="symbolic links"):
        write_file(tmp_path / "one", write_new)


@pytest.mark.skipif(os.name == "nt", reason="has no such permissions")
@pytest.mark.parametrize("mode", [0o600, 0o640, 0o400, 0o644])
def test_a_file_that_is_replaced_is_at_no_moment_open_to_more_users(path, mode):
    path.chmod(mode)

    def write(file):
        assert not os.fstat(file.fileno()).st_mode & 0o777 & ~mode
        write_new(file)

    write_file(path, write)
    assert stat.S_IMODE(path.stat().st_mode) == mode


@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root gives a file any group"
)
def test_a_file_that_is_replaced_passes_on_its_group(path):
    os.chown(path, -1, 12345)
    path.chmod(0o640)
    write_file(path, write_new)
    assert (path.stat().st_gid, stat.S_IMODE(path.stat().st_mode)) == (12345, 0o640)


def test_who_reads_an_earlier_file_goes_on_with_it(path):
    with open(path, "rb") as file:
        write_file(path, write_new)
        assert file.read() == OLD


class Full:
    """A file on a disk that is full after some bytes."""

    def __init__(self, file):
        self.file = file

    def write(self, content):
        self.file.write(content[:7])
        self.file.flush()
        raise OSError(errno.ENOSPC, "No space left on device")


def fail(error):
    def step(*arguments, **names):
        raise error

    return step


@pytest.mark.parametrize("error", [OSError(errno.EIO, "Input/output error"), KeyboardInterrupt()], ids=repr)
@pytest.mark.parametrize(
    ("step", "there_is_one"),
    [(step, there_is_one) for step in ("write", "fsync", "replace") for there_is_one in (True, False)]
    + [("pass_on", True)],
)
def test_failure_at_any_step_leaves_the_earlier_file_and_nothing_else(
    tmp_path, monkeypatch, step, error, there_is_one
):
    path, write = tmp_path / "file", write_new
    if there_is_one:
        path.write_bytes(OLD)
    if step == "write":

        def write(file):
            file.write(NEW[:5])
            raise error
    elif step == "pass_on":
        monkeypatch.setattr(_files, "pass_on", fail(error))
    else:
        monkeypatch.setattr(_files.os, step, fail(error))
    with pytest.raises(type(error)):
        write_file(path, write)
    assert content_of(tmp_path) == ({"file": OLD} if there_is_one else {})


def test_full_disk_leaves_the_earlier_file(path):
    with pytest.raises(OSError, match="No space left"):
        write_file(path, lambda file: write_new(Full(file)))
    assert content_of(path.parent) == {"file": OLD}


def test_file_is_complete_where_its_folder_cannot_be_synchronised(path, monkeypatch):
    calls, sync = [], os.fsync

    def fsync(descriptor):
        calls.append(stat.S_ISDIR(os.fstat(descriptor).st_mode))
        if calls[-1]:
            raise OSError(number, os.strerror(number))
        sync(descriptor)

    monkeypatch.setattr(_files.os, "fsync", fsync)
    number = errno.EINVAL  # it has no such operation
    write_file(path, write_new)
    assert calls == [False, True]
    assert content_of(path.parent) == {"file": NEW}
    number = errno.EIO
    with pytest.raises(OSError, match="Input/output"):
        write_file(path, write_new)
    assert content_of(path.parent) == {"file": NEW}


@pytest.mark.skipif(os.name == "nt", reason="has no such files")
def test_what_cannot_be_replaced_raises_before_anything_is_written(tmp_path):
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    for name, error in (
        ("folder", IsADirectoryError),
        ("none/file", FileNotFoundError),
        ("pipe", OSError),
        ("pipe/file", OSError),
    ):
        with pytest.raises(error):
            write_file(tmp_path / name, fail(AssertionError))
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["folder", "pipe"]
    with pytest.raises(TypeError, match="PathLike"):
        write_file(3.5, write_new)


def write_until_interrupted(path, delay):
    """Runs in a child process; returns whether Ctrl-C arrived."""
    threading.Timer(delay, press_ctrl_c).start()
    end = time.monotonic() + delay + 0.5
    try:
        while time.monotonic() < end:
            write_file(path, write_new)
    except KeyboardInterrupt:
        return True
    return False


@pytest.mark.skipif(sys.platform != "linux", reason="children of the hostile tests are for Linux")
@pytest.mark.parametrize("delay", [0.05, 0.0513, 0.0527, 0.0541])
def test_ctrl_c_at_any_moment_leaves_a_complete_file_and_nothing_else(path, delay):
    from .hostile.tools import in_child

    assert in_child(write_until_interrupted, path, delay)
    assert content_of(path.parent) in ({"file": OLD}, {"file": NEW})
