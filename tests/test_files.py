"""Files that are written completely or not at all."""

import errno
import os
import signal
import stat
import sys
from contextlib import contextmanager, suppress
from unittest import mock

import pytest

from sktopic._runtime import _files
from sktopic._runtime._files import write_file

from .conftest import press_ctrl_c

OLD, NEW = b"old content", b"new content, which is longer"
posix = pytest.mark.skipif(os.name == "nt", reason="has no such permissions and files")


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


@posix
@pytest.mark.parametrize("kind", [str, os.fsencode])
def test_replaced_file_passes_on_its_permissions_and_readers_keep_it(path, kind):
    """At no moment can more users open the new file."""
    for mode in (0o600, 0o640, 0o400, 0o644):
        path.unlink()
        path.write_bytes(OLD)
        path.chmod(mode)
        if os.geteuid() == 0:  # only root gives a file any group
            os.chown(path, -1, 12345)

        def write(file, allowed=mode & 0o707):
            # No group may read it before it has the group of the earlier file.
            assert not os.fstat(file.fileno()).st_mode & 0o777 & ~allowed
            write_new(file)

        with open(path, "rb") as earlier:
            write_file(kind(path), write)
            assert earlier.read() == OLD
        assert content_of(path.parent) == {"file": NEW}
        assert stat.S_IMODE(path.stat().st_mode) == mode
        assert os.geteuid() != 0 or path.stat().st_gid == 12345


@posix
def test_no_other_group_gets_permissions(path, monkeypatch):
    path.chmod(0o664)
    monkeypatch.setattr(os, "chown", mock.Mock(side_effect=PermissionError))
    _files.pass_on(path, 0o664, path.stat().st_gid + 1)
    assert stat.S_IMODE(path.stat().st_mode) == 0o604


@contextmanager
def foreign(link):
    """Give a link to another user, or pretend that this process is of another."""
    user = os.geteuid()
    if user == 0:
        os.lchown(link, 65534, 65534)
    with mock.patch.object(os, "geteuid", return_value=user and user + 1):
        yield


@posix
def test_symbolic_links_are_followed_but_not_those_of_another_user(path):
    """Nor is one that a link of this user leads to; a link at a name that we choose is replaced."""
    link, ours, own, loop = (path.parent / name for name in ("link", "ours", "own", "loop"))
    link.symlink_to("file")
    write_file(link, write_new)
    assert link.is_symlink() and content_of(path.parent) == {"file": NEW, "link": NEW}
    path.write_bytes(OLD)
    ours.symlink_to("link")
    with foreign(link):
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
    loop.symlink_to("loop")
    with pytest.raises(OSError, match="symbolic links"):
        write_file(loop, write_new)


def fail(error):
    def step(*arguments, **names):
        raise error

    return step


def acting_at_each_line(module, act, prepare, call):
    """Yield each line of a module that a call runs, after a call in which `act` ran just before that line."""
    done = [None]

    def trace(frame, event, argument):
        if frame.f_code.co_filename != module.__file__:
            return None
        if event == "line" and frame.f_lineno not in done:
            done.append(frame.f_lineno)
            sys.settrace(None)
            act()
        return trace

    n_done, handler = 0, signal.signal(signal.SIGINT, signal.default_int_handler)
    while len(done) > n_done:
        n_done = len(done)
        prepare()
        before = sys.gettrace()
        sys.settrace(trace)
        with suppress(OSError, KeyboardInterrupt):
            call()
        sys.settrace(before)
        yield done[-1]
    signal.signal(signal.SIGINT, handler)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # closed by the collector
@pytest.mark.parametrize("act", [fail(OSError(errno.EIO, "Input/output error")), press_ctrl_c])
@pytest.mark.parametrize("earlier", [{"file": OLD}, {}], ids=["earlier", "new"])
def test_failure_at_any_line_leaves_a_complete_file_and_nothing_else(tmp_path, earlier, act):
    """Also if some content has been written, as on a full disk."""
    path, found = tmp_path / "file", []

    def prepare():
        path.unlink(missing_ok=True)
        for content in earlier.values():
            path.write_bytes(content)

    def write(file):
        file.write(NEW[:5])
        file.flush()
        _files.is_own(os.lstat(path.parent))  # a line of the module
        file.write(NEW[5:])

    for line in acting_at_each_line(_files, act, prepare, lambda: write_file(path, write)):
        found.append(content_of(tmp_path))
        assert found[-1] in (earlier, {"file": NEW}), f"line {line}"
    assert found[0] == earlier and found[-1] == {"file": NEW}


def test_file_is_on_the_disk_before_it_takes_its_name_and_its_folder_after(path, monkeypatch):
    calls, sync = [], os.fsync

    def fsync(descriptor):
        calls.append((stat.S_ISDIR(os.fstat(descriptor).st_mode), path.read_bytes()))
        if calls[-1][0]:
            raise OSError(number, os.strerror(number))
        sync(descriptor)

    monkeypatch.setattr(_files.os, "fsync", fsync)
    number = errno.EINVAL  # the file system has no such operation
    write_file(path, write_new)
    assert calls == [(False, OLD), (True, NEW)]
    number = errno.EIO
    with pytest.raises(OSError, match="Input/output"):
        write_file(path, write_new)
    assert content_of(path.parent) == {"file": NEW}


@posix
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
    with pytest.raises(TypeError, match="path is a float; the path of a file or folder is allowed"):
        write_file(3.5, write_new)
    with pytest.raises(ValueError, match="path is empty"):
        write_file("", write_new)
