"""Everything that writes: killed before any change of a file, without room or right, beside another writer.

What was there before is then there as a whole, or what came after it. A half is never found under its name;
leftovers have names of their own, and who writes again is not hindered by them. A corpus that is replaced may
be found under such a name.
"""

import contextlib
import ctypes
import errno
import gzip
import itertools
import json
import os
import pathlib
import re
import resource
import shutil
import stat
import struct
import sys
import traceback
from functools import cache
from unittest import mock

import numpy as np
import pytest
import scipy.sparse as sp

import sktopic
from sktopic._runtime._files import open_regular
from sktopic.dask import DaskTopicModel
from sktopic.datasets import _uci, fetch_bag_of_words, open_corpus, save_corpus
from sktopic.inspection import explore
from sktopic.model_selection import topic_number_curve
from tests.conftest import fingerprint, fitted_state, outcome
from tests.test_files import foreign

from .tools import Child, check_each, corpus, in_child, new, share, some

X = corpus(300, 60)
PACKAGE = pathlib.Path(sktopic.__file__).parent


# Targets: a file or a folder, in one of two versions


@cache
def model(version):
    return new("OnlineEMLDA", n_components=(10, 30)[version], batch_size=100).fit(X)


@cache
def page(version):
    return explore(model(version), X, n_documents=2, title=("first", "second")[version])


def write_corpus(path, version):
    names = [f"word {i}" for i in range(60)]
    save_corpus(path, sp.csr_array(X * (1, 1000)[version]), names, overwrite=True)


TARGETS = {
    "model": lambda path, version: model(version).save(path),
    "page": lambda path, version: page(version).save(path),
    "proportions": lambda path, version: model(version).transform(X, out=path),
    "corpus": write_corpus,
}
every_target = pytest.mark.parametrize("name", TARGETS)


def content_of(path):
    """The bytes of a file, or of the files of a folder."""
    if path.is_dir():
        return {entry.name: entry.read_bytes() for entry in path.iterdir()}
    return path.read_bytes()


def both_contents(name, folder):
    folder.mkdir()
    for version in 0, 1:
        TARGETS[name](folder / str(version), version)
    return [content_of(folder / str(version)) for version in (0, 1)]


# Computations that keep their progress in a folder


def follow_curve(folder):
    """topic_number_curve, whose results are in a file."""
    os.makedirs(folder, exist_ok=True)
    estimator = new("OnlineEMLDA", max_iter=1, batch_size=100)
    file = folder / "curve.jsonl"
    curve = topic_number_curve(estimator, X[:100], n_components=[2, 3], cv=2, results_file=file)
    return [curve.models[0].scores, curve.models[0].coherences]


def follow_checkpoints(folder):
    """A fit in lanes, which keeps checkpoints."""
    estimator = new("OnlineVariationalLDA", topic_word_prior="auto", batch_size=20)
    settings = {"n_lanes": 2, "merge_every": 1, "checkpoint_every": 1, "resume": True, "client": False}
    return fitted_state(DaskTopicModel(estimator, checkpoint=folder, **settings).fit(X[:100]).estimator_)


def collection():
    """The files of a made-up collection that goes by the name of a published one, and its size."""
    counts = corpus(60, 50)
    entries = [f"{i + 1} {j + 1} {counts[i, j]:.0f}" for i, j in zip(*np.nonzero(counts))]
    size = *counts.shape, len(entries)
    text = "\n".join([*map(str, size), *entries]).encode()
    words = "\n".join(f"word{i}" for i in range(50)).encode()
    return {"docword.kos.txt.gz": gzip.compress(text, mtime=0), "vocab.kos.txt": words}, size


def follow_cache(folder):
    """A dataset that is read from text files, and kept as a corpus."""
    files, _uci._PUBLISHED["kos"] = collection()
    os.makedirs(folder / "uci_bag_of_words", exist_ok=True)
    for name, content in files.items():
        if not (folder / "uci_bag_of_words" / name).exists():
            (folder / "uci_bag_of_words" / name).write_bytes(content)
    bunch = fetch_bag_of_words("kos", folder, download_if_missing=False)
    return bunch.data, bunch.feature_names


LONG = {"curve": follow_curve, "checkpoints": follow_checkpoints, "cache": follow_cache}


def write(name, folder, version=1):
    """A target, or a computation, in a folder."""
    if name in TARGETS:
        return TARGETS[name](folder / "target.npy", version)
    return LONG[name](folder / "whole")


every_writer = pytest.mark.parametrize("name", [*TARGETS, *LONG])


# Killed

# Where Python tells that it changes files.
CHANGES = {"open", "os.rename", "os.remove", "os.rmdir", "os.mkdir", "os.truncate", "os.chmod", "os.link"}


def hear_changes(folder, act):
    """Call act(paths in the folder) before the package changes any there, until this process ends."""
    busy = []

    def hear(event, arguments):
        if busy or event not in CHANGES | {"os.symlink"}:
            return
        if event == "open" and not arguments[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
            return
        paths = [os.fspath(each) for each in arguments[:2] if isinstance(each, (str, os.PathLike))]
        paths = [os.path.relpath(path, folder) for path in paths if path.startswith(f"{folder}/")]
        callers = traceback.extract_stack()
        if paths and any(PACKAGE in pathlib.Path(caller.filename).parents for caller in callers):
            busy.append(1)
            act(paths)
            busy.clear()

    sys.addaudithook(hear)


# Random names that are known to others
FORETOLD = mock.patch("secrets.token_hex", lambda n_bytes: "0" * 2 * n_bytes)


def observed(name, folder, places):
    """Runs in a child process: copies of a folder as a kill before each change of a file would leave it.

    What Python has not handed over to the system yet is lost by a kill, and not in the copy either. Returns
    the number of copies, a hash of what is written or computed, and the paths of changes in the folder.
    """
    folder.mkdir()
    if name in TARGETS:
        write(name, folder, 0)
    found = []

    def act(paths):
        shutil.copytree(folder, places / str(len(found)), symlinks=True)
        found.append(paths)

    hear_changes(folder, act)
    with FORETOLD:
        answer = fingerprint(write(name, folder))
    return len(found), answer, list(dict.fromkeys(itertools.chain(*found)))


def compute(name, folders):
    """Runs in a child process."""
    return [fingerprint(write(name, folder)) for folder in folders]


@every_writer
def test_what_a_kill_leaves_is_one_version_or_goes_on_to_the_same_result(name, tmp_path):
    n_states, answer, _ = in_child(observed, name, tmp_path / "folder", tmp_path / "killed")
    assert n_states > 2
    states = [tmp_path / "killed" / str(i) for i in range(n_states)]
    if name in LONG:
        for path in (tmp_path / "killed").rglob("*.json"):
            assert path.parent.suffix == ".incomplete" or json.loads(path.read_bytes())
        # Files that are whole are not read again, so that each kind of state is among the last.
        chosen = sorted({*some(states, share(0.004)), *states[-3:]})
        assert set(in_child(compute, name, chosen)) == {answer}
        return
    expected, found = both_contents(name, tmp_path / "expected"), []
    for folder in states:
        path = folder / "target.npy"
        assert all(entry == path or entry.name.startswith(".") for entry in folder.iterdir())
        if name == "corpus" and not path.exists():  # killed between the old and the new one
            (aside,) = folder.glob(".target.npy.*.replaced")
            aside.rename(path)
        found.append(expected.index(content_of(path)))
    assert found == sorted(found) and found[0] == 0  # the old one until the new one is there
    TARGETS[name](path, 0)
    assert content_of(path) == expected[0]


# No room, and no right


def refuse(folder):
    """Make a folder read-only, also for this process, which gives up the rights of an administrator."""
    libc = ctypes.CDLL(None, use_errno=True)
    assert libc.capset(struct.pack("=Ii", 0x20080522, 0), bytes(24)) == 0
    for path in (folder, *folder.rglob("*")):
        path.chmod(0o500)


def write_without_right(name, folder):
    """Runs in a child process: what cannot be written is an error, and is read."""
    path = folder / "target.npy"
    write(name, folder, 0)
    before = content_of(path)
    refuse(folder)
    _, error = outcome(write, name, folder)
    assert error.errno == errno.EACCES
    assert content_of(path) == before and os.listdir(folder) == ["target.npy"]
    if name == "model":
        assert sktopic.load(path, mmap_mode="r").transform(X).shape == (300, 10)
    if name == "corpus":
        assert open_corpus(path, verify=True).shape == X.shape


def write_without_room(name, folder):
    """Runs in a child process, where files may not become larger than so many bytes."""
    write(name, folder, 0)
    before, most = content_of(folder / "target.npy"), resource.getrlimit(resource.RLIMIT_FSIZE)[1]
    for n_bytes in (0, 300, 5000):
        resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, most))
        with pytest.raises(OSError, match="File too large"):
            write(name, folder)
        assert content_of(folder / "target.npy") == before and os.listdir(folder) == ["target.npy"]


def read_where_nothing_can_be_written(name, folder):
    """Runs in a child process: a dataset is read without its cache."""
    expected = fingerprint(follow_cache(folder))
    shutil.rmtree(folder / "uci_bag_of_words" / "kos.corpus")
    refuse(folder)
    assert fingerprint(follow_cache(folder)) == expected


@pytest.mark.parametrize(
    ("use", "name"),
    [(read_where_nothing_can_be_written, "cache")]
    + [(use, name) for use in (write_without_right, write_without_room) for name in TARGETS],
)
def test_no_room_or_no_right_is_an_error_and_leaves_what_was_there(use, name, tmp_path):
    in_child(use, name, tmp_path)


# What others have put where a writer will write

PLANTS = {
    "nothing": lambda path, precious: None,
    "link to a file": lambda path, precious: os.symlink(precious / "thesis.txt", path),
    "link to a folder": lambda path, precious: os.symlink(precious, path),
    "dangling link": lambda path, precious: os.symlink(precious / "none", path),
    "hard link": lambda path, precious: os.link(precious / "thesis.txt", path),
    "pipe": lambda path, precious: os.mkfifo(path),
    "socket": lambda path, precious: os.mknod(path, stat.S_IFSOCK | 0o600),
    "folder": lambda path, precious: shutil.copytree(precious, path),
}


def test_only_regular_files_are_opened_also_if_they_have_just_been_replaced(tmp_path):
    regular = os.lstat(__file__)
    for plant in PLANTS.keys() - {"nothing", "hard link"}:
        path = tmp_path / plant
        PLANTS[plant](path, PACKAGE / "datasets")
        with pytest.raises(OSError, match="not a regular file"):
            open_regular(path)
        if "link" in plant:
            with mock.patch("os.lstat", return_value=regular), pytest.raises(OSError, match="symbolic links"):
                open_regular(path)


def content_of_tree(folder):
    """What is in a folder, and what a user sees of each: nothing is read through a link."""
    found = {}
    for path in folder.rglob("*"):
        is_link, mode = path.is_symlink(), path.lstat().st_mode
        content = os.readlink(path) if is_link else path.read_bytes() if path.is_file() else None
        found[str(path.relative_to(folder))] = mode, content
    return found


def attack(name, folder, planted, plant):
    """Runs in a child process: a writer meets what somebody else has put at a path."""
    precious, working = folder / "precious", folder / "working"
    (precious / "sub").mkdir(parents=True)
    working.mkdir()
    for file in "thesis.txt", "sub/notes.txt", "data.npy", "about.json":
        (precious / file).write_text("years of work")
    path, beside = working / planted, planted.startswith(".")
    if name in TARGETS and beside:
        write(name, working, 0)
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists():  # or it is a folder that contains others
        PLANTS[plant](path, precious)
    before = content_of_tree(precious)
    with FORETOLD, foreign(path) if path.is_symlink() else contextlib.nullcontext():
        _, error = outcome(write, name, working)
    assert isinstance(error, (OSError, ValueError, type(None))), repr(error)
    assert content_of_tree(precious) == before
    if plant == "folder":
        assert before.items() <= content_of_tree(path).items()  # it may be the folder that the user gives
    assert plant != "nothing" or error is None or path.parent != working


@every_writer
def test_what_others_have_put_at_any_name_is_left_alone(name, tmp_path):
    """At each path that a writer uses, even if others could foretell it."""
    *_, paths = in_child(observed, name, tmp_path / "run", tmp_path / "killed")
    assert paths
    places = itertools.product(enumerate(paths), PLANTS)
    cases = [(name, tmp_path / f"{i} {plant}", path, plant) for (i, path), plant in places]
    check_each(attack, some(cases, share(0.008), 2))


# Where the package changes files: a new module comes with a writer in TARGETS or LONG that calls it.
MODULES_THAT_WRITE = {
    *("_runtime/_files", "_documents/_corpus_writer", "_estimators/_model_files", "dask/_files"),
    *("_estimators/_result_blocks", "_runtime/_result_file", "datasets/_uci", "inspection/_explorer"),
}
WRITES = re.compile(
    r"^(?! *(>>>|\.\.\.)).*((?<![.\w])open(_regular)?\([^()]*, \"[wax]|(write_(file|text|bytes)"
    r"|os\.(replace|rename|mkdir|unlink|rmdir)|mkdtemp|mkstemp|Temporary(Directory|File)|tofile|open_memmap"
    r"|savez|savetxt|savefig|to_csv|copyfile|copytree|rmtree|makedirs|symlink|touch)\()",
    re.MULTILINE,
)


def test_every_module_that_changes_files_is_attacked():
    found = [path for path in PACKAGE.rglob("*.py") if WRITES.search(path.read_text())]
    assert {path.relative_to(PACKAGE).with_suffix("").as_posix() for path in found} == MODULES_THAT_WRITE


# Several processes


def write_many(name, folder, version, n_times):
    """Runs in a child process; returns how often another corpus came between."""
    errors = [outcome(write, name, folder, version)[1] for _ in range(n_times)]
    return sum(isinstance(error, (OSError, ValueError)) for error in errors)


@every_target
def test_two_processes_with_one_target_leave_one_of_two_versions(name, tmp_path):
    """Also for who reads meanwhile, but that a corpus is away for a moment."""
    expected = both_contents(name, tmp_path / "expected")
    folder, n_times = tmp_path / "folder", min(200, share(0.004))
    folder.mkdir()
    path = folder / "target.npy"
    write(name, folder, 0)
    with Child() as one, Child() as other:
        for version, child in enumerate((one, other)):
            child.begin(write_many, name, folder, version, n_times)
        while not (one.connection.poll(0.001) and other.connection.poll(0.001)):
            if name == "corpus":  # whose files are read at several moments
                with contextlib.suppress(FileNotFoundError):
                    assert open_corpus(path, verify=True).shape == X.shape
            else:
                assert content_of(path) in expected
        refused = [one.result(), other.result()]
    assert content_of(path) in expected
    if name == "corpus":
        left = {entry.suffix for entry in folder.iterdir() if entry != path}
        assert left <= {".replaced"} and sum(refused) < 2 * n_times
        return
    assert os.listdir(folder) == ["target.npy"] and refused == [0, 0]
