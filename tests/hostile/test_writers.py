"""Everything that writes, killed at any moment, on full and read-only disks, and beside another writer.

What was there before is then there as a whole, or what came after it. A half is never found under its name;
leftovers have names of their own, and who writes again is not hindered by them. A corpus that is replaced may
be found under such a name.
"""

import ast
import contextlib
import ctypes
import errno
import itertools
import json
import os
import pathlib
import random
import re
import resource
import shutil
import signal
import stat
import sys
import time
import traceback
from functools import cache
from unittest import mock

import pytest
import scipy.sparse as sp

import sktopic
from sktopic.dask import DaskTopicModel
from sktopic.datasets import _uci, fetch_bag_of_words, open_corpus, save_corpus
from sktopic.inspection import explore
from sktopic.model_selection import topic_number_curve

from .test_signals import small_collection
from .tools import (
    child,
    corpus,
    failures,
    fingerprint,
    fitted_state,
    follow,
    in_child,
    new,
    note,
    outcome,
    share,
)

X = corpus(300, 60)
N_KILLS = min(200, share(0.001))


# Targets: a file or a folder, in one of two versions


@cache
def model(version):
    return new("OnlineEMLDA", n_components=(10, 30)[version], batch_size=100).fit(X)


def write_model(path, version):
    model(version).save(path)


@cache
def page(version):
    return explore(model(version), X, n_documents=2, title=("first", "second")[version])


def write_page(path, version):
    page(version).save(path)


def write_proportions(path, version):
    model(version).transform(X, out=path)


def write_corpus(path, version):
    names = [f"word {i}" for i in range(60)]
    save_corpus(path, sp.csr_array(X * (1, 1000)[version]), names, overwrite=True)


TARGETS = {
    write.__name__.removeprefix("write_"): write
    for write in (write_model, write_page, write_proportions, write_corpus)
}
every_target = pytest.mark.parametrize("name", TARGETS)


def content_of(path):
    """The bytes of a file, or of the files of a folder."""
    if path.is_dir():
        return {entry.name: entry.read_bytes() for entry in path.iterdir()}
    return path.read_bytes()


def both_contents(name, folder):
    for version in 0, 1:
        path = folder / f"expected {version}.npy"
        TARGETS[name](path, version)
        yield content_of(path)


# Killed

# Where Python tells that it changes files.
CHANGES = {"open", "os.rename", "os.remove", "os.rmdir", "os.mkdir", "os.truncate", "os.chmod"}


def count_changes(folder, stop_at=None):
    """Count changes of files in a folder; SIGKILL right before one of them, if asked to."""
    n_changes = [0]

    def hear(event, arguments):
        inside = event in CHANGES and any(str(folder) in str(argument) for argument in arguments[:2])
        if inside and not (event == "open" and arguments[1] == "r"):
            n_changes[0] += 1
            if n_changes[0] == stop_at:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(hear)
    return n_changes


def write_in_turns(name, path, stop_at=None):
    """Runs in a child process, until it is killed."""
    for version in 0, 1:
        model(version)
        if name == "page":
            page(version)
    note("ready")
    count_changes(path.parent, stop_at)
    for version in itertools.cycle((1, 0)):
        TARGETS[name](path, version)


def measure(name, path):
    """Runs in a child process: changes of files and seconds of writing once over another version."""
    for version in 1, 0:
        TARGETS[name](path, version)
    n_changes, started = count_changes(path.parent), time.perf_counter()
    TARGETS[name](path, 1)
    return n_changes[0], time.perf_counter() - started


def killed(function, *arguments, after=None):
    """Run a child process until it kills itself, or is killed so many seconds after it is ready."""
    with child(function, *arguments) as (process, connection):
        assert connection.recv() == ("note", "ready")
        if after is None:
            process.join(60)
        else:
            time.sleep(after)
            process.kill()
            process.join()
        assert process.exitcode == -signal.SIGKILL, process.exitcode


@every_target
def test_what_is_there_after_a_kill_is_one_of_the_versions(name, tmp_path):
    (tmp_path / "expected").mkdir()
    expected = list(both_contents(name, tmp_path / "expected"))
    folder, rng = tmp_path / "folder", random.Random(name)
    folder.mkdir()
    path = folder / "target.npy"
    n_changes, seconds = in_child(measure, name, path)
    for i in range(N_KILLS):
        if i % 2:
            killed(write_in_turns, name, path, after=rng.uniform(0, 3 * seconds))
        else:
            killed(write_in_turns, name, path, rng.randint(1, 2 * n_changes))
        left = [entry for entry in folder.iterdir() if entry != path]
        assert all(entry.name.startswith(".") for entry in left)
        if name == "corpus" and not path.exists():  # killed between the old and the new one
            (aside,) = folder.glob(".target.npy.*.replaced")
            aside.rename(path)
            left.remove(aside)
        assert content_of(path) in expected, f"kill {i}"
        for entry in left:
            shutil.rmtree(entry) if entry.is_dir() else entry.unlink()
    TARGETS[name](path, 0)
    assert content_of(path) == expected[0]


# Computations that keep their progress: killed, they go on


def follow_curve(folder):
    """topic_number_curve, whose results are in a file."""
    os.makedirs(folder, exist_ok=True)
    estimator = new("OnlineEMLDA", max_iter=1, batch_size=100)
    curve = topic_number_curve(estimator, X, n_components=[2, 3], cv=2, results_file=folder / "curve.jsonl")
    return [curve.models[0].scores, curve.models[0].coherences]


def follow_checkpoints(folder):
    """A fit in lanes, which keeps checkpoints."""
    estimator = new("OnlineVariationalLDA", topic_word_prior="auto", batch_size=20)
    settings = {"n_lanes": 2, "merge_every": 1, "checkpoint_every": 1, "resume": True, "client": False}
    return fitted_state(DaskTopicModel(estimator, checkpoint=folder, **settings).fit(X).estimator_)


@cache
def collection():
    return small_collection(60, 50)


def follow_cache(folder):
    """A dataset that is read from text files, and kept as a corpus."""
    files, _uci._PUBLISHED["kos"] = collection()
    os.makedirs(folder / "uci_bag_of_words", exist_ok=True)
    for name, content in files.items():
        (folder / "uci_bag_of_words" / name[1:]).write_bytes(content)
    bunch = fetch_bag_of_words("kos", folder, download_if_missing=False)
    return bunch.data, bunch.feature_names


LONG = {
    follow.__name__.removeprefix("follow_"): follow
    for follow in (follow_curve, follow_checkpoints, follow_cache)
}


def compute_anew(name, folder, stop_at):
    """Runs in a child process, until it is killed."""
    LONG[name](folder / "whole")
    note("ready")
    count_changes(folder, stop_at)
    for i in itertools.count():
        LONG[name](folder / str(i))


def measure_computation(name, folder):
    """Runs in a child process."""
    os.makedirs(folder)
    n_changes, started = count_changes(folder), time.perf_counter()
    answer = fingerprint(LONG[name](folder / "whole"))
    return n_changes[0], time.perf_counter() - started, answer


def compute(name, folders):
    """Runs in a child process."""
    return [fingerprint(LONG[name](folder)) for folder in folders]


@pytest.mark.parametrize("name", LONG)
def test_a_killed_computation_goes_on_to_the_same_result(name, tmp_path):
    rng = random.Random(name)
    n_changes, seconds, expected = in_child(measure_computation, name, tmp_path / "measured")
    for i in range(N_KILLS):
        folder = tmp_path / str(i)
        folder.mkdir()
        if i % 2:
            killed(compute_anew, name, folder, None, after=rng.uniform(0, 2 * seconds))
        else:
            killed(compute_anew, name, folder, rng.randint(1, n_changes))
        for path in folder.rglob("*.json"):
            if path.parent.suffix != ".incomplete":
                json.loads(path.read_bytes())
        begun = [path for path in folder.iterdir() if path.is_dir()]
        assert set(in_child(compute, name, begun)) == {expected}, f"kill {i}"


# No room, and no right


def mounted(function, folder, *arguments):
    """function(folder, libc, ...) with a file system of a megabyte there, which nobody else sees.

    Where this process may not mount, libc is None, and the folder an ordinary one. Returns None where nothing
    can be tried: on a disk that is not full, and for root, who may write everywhere.
    """
    new_namespace, private = 0x20000, 0x40000 | 0x4000
    if sys.platform == "linux":
        libc = ctypes.CDLL(None, use_errno=True)
        may = libc.unshare(new_namespace) == 0 and libc.mount(b"none", b"/", None, private, None) == 0
        if may and libc.mount(b"tmpfs", os.fsencode(folder), b"tmpfs", 0, b"size=%d" % (1 << 20)) == 0:
            return function(folder, libc, *arguments)
    if function is fill_up or os.geteuid() == 0:
        return None
    return function(folder, None, *arguments)


def make_read_only(folder, libc):
    """Returns the error of who writes there."""
    if libc is None:
        for path in (folder, *folder.rglob("*")):
            path.chmod(0o500)
        return errno.EACCES
    remount, read_only = 0x20, 0x1
    assert libc.mount(b"tmpfs", os.fsencode(folder), b"tmpfs", remount | read_only, None) == 0
    return errno.EROFS


def fill_up(folder, libc, name):
    """Write to a full disk, with room of all sizes below what is needed."""
    path, errors = folder / "target.npy", set()
    TARGETS[name](path, 0)
    before, room = content_of(path), os.statvfs(folder)
    for spare in range(0, room.f_bavail, 1 if N_KILLS > 100 else 9):
        with open(folder / "filler", "wb") as file:
            file.write(bytes((os.statvfs(folder).f_bavail - spare) * room.f_bsize))
        try:
            TARGETS[name](path, 1)
        except OSError as error:
            errors.add(error.errno)
        else:
            break
        assert content_of(path) == before and sorted(os.listdir(folder)) == ["filler", "target.npy"]
        os.unlink(folder / "filler")
    return errors == {errno.ENOSPC}


def write_without_right(folder, libc, name):
    """Write where only reading is allowed."""
    path = folder / "target.npy"
    TARGETS[name](path, 0)
    before = content_of(path)
    expected = make_read_only(folder, libc)
    _, error = outcome(TARGETS[name], path, 1)
    assert error.errno == expected
    assert content_of(path) == before and os.listdir(folder) == ["target.npy"]
    if name == "model":
        assert sktopic.load(path, mmap_mode="r").transform(X).shape == (300, 10)
    if name == "corpus":
        assert open_corpus(path, verify=True).shape == X.shape
    return True


@pytest.mark.parametrize("use", [fill_up, write_without_right])
@every_target
def test_no_room_or_no_right_is_an_error_and_leaves_what_was_there(name, use, tmp_path):
    found = in_child(mounted, use, tmp_path, name)
    if found is None:
        pytest.skip("this process may not mount")
    assert found


def write_within(path, name, sizes):
    """Runs in a child process, where files may not become larger."""
    TARGETS[name](path, 0)
    before, most = content_of(path), resource.getrlimit(resource.RLIMIT_FSIZE)[1]
    for n_bytes in sizes:
        resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, most))
        with pytest.raises(OSError, match="File too large"):
            TARGETS[name](path, 1)
        assert content_of(path) == before and os.listdir(path.parent) == [path.name]


@every_target
def test_a_file_that_may_not_grow_is_an_error_and_leaves_what_was_there(name, tmp_path):
    in_child(write_within, tmp_path / "target.npy", name, [0, 300, 5000])


def read_from_where_nothing_can_be_written(folder, libc):
    follow_cache(folder)
    for path in (folder / "uci_bag_of_words").glob("*.npz"):
        path.unlink()
    expected = fingerprint(follow_cache(folder))
    for path in (folder / "uci_bag_of_words").glob("*.npz"):
        path.unlink()
    make_read_only(folder, libc)
    bunch = fetch_bag_of_words("kos", folder, download_if_missing=False)
    assert fingerprint((bunch.data, bunch.feature_names)) == expected
    return True


def test_a_dataset_is_read_where_no_cache_can_be_written(tmp_path):
    if in_child(mounted, read_from_where_nothing_can_be_written, tmp_path) is None:
        pytest.skip("this process may not mount")


# What others have put where a writer will write


def plant_nothing(path, precious):
    """The folder is as the writer finds it."""


def plant_link_to_file(path, precious):
    os.symlink(precious / "thesis.txt", path)


def plant_link_to_folder(path, precious):
    os.symlink(precious, path)


def plant_dangling_link(path, precious):
    os.symlink(precious / "none", path)


def plant_pipe(path, precious):
    os.mkfifo(path)


def plant_socket(path, precious):
    os.mknod(path, stat.S_IFSOCK | 0o600)


def plant_folder(path, precious):
    shutil.copytree(precious, path)


PLANTS = [
    plant_nothing,
    plant_link_to_file,
    plant_link_to_folder,
    plant_dangling_link,
    plant_pipe,
    plant_socket,
    plant_folder,
]


def write_target(name, folder):
    TARGETS[name](folder / "target.npy", 1)


def write_long(name, folder):
    LONG[name](folder / "whole")


PACKAGE = pathlib.Path(sktopic.__file__).parent
WRITERS = {name: write_target for name in TARGETS} | {name: write_long for name in LONG}


def changed_paths(name, folder):
    """Runs in a child process: the paths, relative to a folder, at which the package changes something."""
    folder.mkdir()
    found = set()

    def hear(event, arguments):
        if event in CHANGES | {"os.link", "os.symlink"}:
            if event == "open" and not arguments[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
                return
            callers = traceback.extract_stack()
            if not any(PACKAGE in pathlib.Path(caller.filename).parents for caller in callers):
                return
            paths = [os.fspath(each) for each in arguments[:2] if isinstance(each, (str, os.PathLike))]
            found.update(os.path.relpath(path, folder) for path in paths if path.startswith(f"{folder}/"))

    sys.addaudithook(hear)
    WRITERS[name](name, folder)
    return found


def content_of_tree(folder):
    """What is in a folder, and what a user sees of each: nothing is read through a link."""
    found = {}
    for path in sorted(folder.rglob("*")):
        status = path.lstat()
        is_file, is_link = path.is_file() and not path.is_symlink(), path.is_symlink()
        content = path.read_bytes() if is_file else os.readlink(path) if is_link else None
        found[str(path.relative_to(folder))] = status.st_mode, status.st_nlink, content
    return found


def attack(name, folder, planted, plant):
    """Runs in a child process: a writer meets what somebody else has put at a path."""
    precious, working = folder / "precious", folder / "working"
    (precious / "sub").mkdir(parents=True)
    working.mkdir()
    for file in "thesis.txt", "sub/notes.txt", "data.npy", "about.json":
        (precious / file).write_text("years of work")
    path = working / planted
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists():  # or it is a folder that contains others
        plant(path, precious)
    before = content_of_tree(precious)
    with foreign(path) if path.is_symlink() else contextlib.nullcontext():
        _, error = outcome(WRITERS[name], name, working)
    assert isinstance(error, (OSError, ValueError, type(None))), repr(error)
    assert content_of_tree(precious) == before
    if plant is plant_folder:
        assert before.items() <= content_of_tree(path).items()  # it may be the folder that the user gives
    if plant is plant_nothing:
        assert error is None


@contextlib.contextmanager
def foreign(link):
    """Give a link to another user, or pretend that this process is of another."""
    user = os.geteuid()
    if user == 0:
        os.lchown(link, 65534, 65534)
    with mock.patch.object(os, "geteuid", return_value=user and user + 1):
        yield


@pytest.mark.parametrize("name", WRITERS)
def test_what_others_have_put_at_any_name_is_left_alone(name, tmp_path):
    """At each path that a writer uses in every run, one for each kind: others cannot foretell the rest."""
    runs = [in_child(changed_paths, name, tmp_path / f"run {i}") for i in range(2)]
    paths = {re.sub(r"[0-9a-f]{8,}", "", path): path for path in set.intersection(*runs)}
    assert paths
    cases = [
        (name, tmp_path / f"{i} {plant.__name__}", path, plant)
        for i, path in enumerate(paths.values())
        for plant in PLANTS
    ]
    assert failures(attack, cases) == []


# Where the package changes files, and the writers here that call it.
MODULES_THAT_WRITE = {
    "_runtime/_files": WRITERS,
    "_documents/_corpus_writer": {"corpus", "cache"},
    "_estimators/_model_files": {"model"},
    "_estimators/_result_blocks": {"proportions"},
    "_runtime/_result_file": {"curve"},
    "dask/_files": {"checkpoints"},
    "datasets/_uci": {"cache"},
    "inspection/_explorer": {"page"},
}
CALLS_THAT_WRITE = {
    *("write_file", "mkdtemp", "mkstemp", "TemporaryDirectory", "NamedTemporaryFile", "TemporaryFile"),
    *("mkdir", "makedirs", "unlink", "rmdir", "rmtree", "symlink", "symlink_to", "copyfile", "copytree"),
    *("write_text", "write_bytes", "touch", "tofile", "open_memmap", "savez", "savetxt", "savefig", "to_csv"),
}


def changes_files(call):
    """Whether a call in a module may change files, by the name of the function and the mode of `open`."""
    function = ast.unparse(call.func)
    if function == "open":
        modes = [*call.args[1:2], *(each.value for each in call.keywords if each.arg == "mode")]
        return any(set(ast.unparse(mode)) & set("wax+") for mode in modes)
    return function in ("os.replace", "os.rename") or function.rpartition(".")[2] in CALLS_THAT_WRITE


def test_every_module_that_changes_files_is_attacked():
    """A new one comes with a writer in TARGETS or LONG, and a line in MODULES_THAT_WRITE."""
    found = set()
    for path in PACKAGE.rglob("*.py"):
        tree = ast.walk(ast.parse(path.read_text()))
        if any(isinstance(node, ast.Call) and changes_files(node) for node in tree):
            found.add(path.relative_to(PACKAGE).with_suffix("").as_posix())
    assert found == MODULES_THAT_WRITE.keys()
    assert set().union(*MODULES_THAT_WRITE.values()) == WRITERS.keys()


# Several processes


def write_many(name, path, version, n_times):
    """Runs in a child process; returns how often another corpus came between."""
    n_refused = 0
    for _ in range(n_times):
        try:
            TARGETS[name](path, version)
        except (OSError, ValueError):
            n_refused += 1
    return n_refused


@every_target
def test_two_processes_with_one_target_leave_one_of_two_versions(name, tmp_path):
    """Also for who reads meanwhile, but that a corpus is away for a moment."""
    (tmp_path / "expected").mkdir()
    expected = list(both_contents(name, tmp_path / "expected"))
    folder, n_times = tmp_path / "folder", min(200, share(0.002))
    folder.mkdir()
    path = folder / "target.npy"
    TARGETS[name](path, 0)
    with contextlib.ExitStack() as stack:
        children = [
            stack.enter_context(child(write_many, name, path, version, n_times)) for version in (0, 1)
        ]
        while not all(connection.poll(0.001) for _, connection in children):
            if name == "corpus":  # whose files are read at several moments
                with contextlib.suppress(FileNotFoundError):
                    assert open_corpus(path, verify=True).shape == X.shape
            else:
                assert content_of(path) in expected
        refused = [follow(process, connection, 60) for process, connection in children]
    assert content_of(path) in expected
    if name == "corpus":
        left = {entry.suffix for entry in folder.iterdir() if entry != path}
        assert left <= {".replaced"} and sum(refused) < 2 * n_times
        return
    assert os.listdir(folder) == ["target.npy"] and refused == [0, 0]
