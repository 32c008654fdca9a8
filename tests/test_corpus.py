"""Corpora on disk: what is written is read, whole or not at all; and blocks that they are written from."""

import json
import os
import pickle
import re
import shutil
import stat
import tracemalloc
from functools import partial
from itertools import product

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal
from sklearn.feature_extraction.text import HashingVectorizer

from sktopic._documents import _corpus, _corpus_writer
from sktopic._runtime._array_archive import npy_header
from sktopic.dask import read_parquet
from sktopic.datasets import iter_parquet, open_corpus, save_corpus
from sktopic.lda import OnlineEMLDA
from sktopic.metrics import document_completion

from .conftest import assert_raises, outcome, press_ctrl_c
from .test_files import acting_at_each_line, content_of

WORDS = [f"wörd {i}" for i in range(7)]


def counts(n_documents=50, rate=1.0, seed=0):
    return sp.csr_array(np.random.default_rng(seed).poisson(rate, (n_documents, len(WORDS))))


def blocks_of(X, size):
    return (X[first : first + size] for first in range(0, X.shape[0], size))


@pytest.fixture
def path(tmp_path):
    return tmp_path / "corpus"


def test_what_is_written_is_read(path):
    X, ids = counts(), [f"document {i}" for i in range(50)]
    written = save_corpus(path, X, WORDS, ids)
    for corpus in (written, open_corpus(path, verify=True), pickle.loads(pickle.dumps(written))):
        assert (corpus.shape, corpus.nnz, corpus.dtype) == (X.shape, X.nnz, np.uint8)
        assert corpus.path == str(path)
        assert_array_equal(corpus.counts.toarray(), X.toarray())
        assert_array_equal(corpus[10:20].toarray(), X[10:20].toarray())
        assert_array_equal(sp.vstack(list(corpus.blocks())).toarray(), X.toarray())
        assert corpus[20:10].shape == (0, 7)
        read = next(corpus.blocks())  # into memory, not as a part of the file
        assert all(array.flags.writeable for array in (read.indptr, read.indices, read.data))
        assert_array_equal(corpus.feature_names, np.array(WORDS, dtype=object))
        assert_array_equal(corpus.doc_ids, np.array(ids, dtype=object))
        for name in ("indptr", "indices", "data"):
            array = getattr(corpus.counts, name)
            assert isinstance(array.base, np.memmap) and not array.flags.writeable
            assert_array_equal(np.load(path / f"{name}.npy"), getattr(X, name))
    assert [entry.name for entry in path.parent.iterdir()] == ["corpus"]


@pytest.mark.parametrize("large", [None, 60, 0])
def test_all_ways_to_write_make_the_same_bytes(tmp_path, monkeypatch, large):
    """Also those with indices of 64 bits, which are needed from a block on or from the first."""
    if large is not None:
        monkeypatch.setattr(_corpus, "LARGE", large)
    X = counts()
    shuffled = X.copy()
    shuffled.indices, shuffled.data = shuffled.indices[::-1].copy(), shuffled.data[::-1].copy()
    shuffled = sp.csr_array((shuffled.data, shuffled.indices, X.nnz - X.indptr[::-1]), X.shape)[::-1]
    first = save_corpus(tmp_path / "first", X)
    expected = np.int32 if large is None else np.int64
    assert first.counts.indices.dtype == first.counts.indptr.dtype == expected
    assert_array_equal(first.counts.toarray(), X.toarray())
    assert first[:10].indices.dtype == first[:10].indptr.dtype == (np.int64 if large == 0 else np.int32)
    content = content_of(tmp_path / "first")
    ways = [first, X.astype(np.float32).tocsc(), shuffled, X.toarray(), blocks_of(X, 3)]
    ways += [[X[:1].tocoo(), X[1:1], X[1:30].toarray(), sp.csr_matrix(X[30:])]]
    for i, each in enumerate(ways):
        save_corpus(tmp_path / str(i), each)
        assert content_of(tmp_path / str(i)) == content


def test_counts_are_stored_in_the_smallest_type(path, monkeypatch):
    """Also if earlier ones are converted, some bytes at a time."""
    monkeypatch.setattr(_corpus_writer, "CHUNK", 24)
    first = np.arange(200, 220)[:, np.newaxis]
    for last, expected in [
        (np.int64([255]), "u1"),
        (np.int64([256]), "u2"),
        (np.float32([65536]), "u4"),
        (np.int64([2**32]), "f8"),
        (np.float64([1e12]), "f8"),
        (np.float32([0.1]), "f4"),
        (np.float64([0.1]), "f8"),
        (np.array([True]), "u1"),
    ]:
        corpus = save_corpus(path, [first, last[np.newaxis], first], overwrite=True)
        assert corpus.dtype == expected, last
        assert_array_equal(corpus.counts.data, [*range(200, 220), last[0], *range(200, 220)])
        assert open_corpus(path, verify=True).nnz == 41


def test_beyond_two_to_the_31_entries_nothing_is_read_or_converted_at_opening(path):
    """Of a folder whose files are holes but for the last document: they take no place on the disk."""
    X = save_corpus(path, counts(2)).counts
    header, nnz = json.loads((path / "header.json").read_bytes()), 2**31 + 3
    last = X[[1]]
    ends = {
        "indptr": np.array([0, nnz - last.nnz, nnz]),
        "indices": np.int64(last.indices),
        "data": last.data,
    }
    for name, end in ends.items():
        length = 3 if name == "indptr" else nnz
        header["arrays"][name] |= {"dtype": end.dtype.str, "shape": [length]}
        with open(path / f"{name}.npy", "wb") as file:
            file.write(npy_header(end.dtype, (length,)))
            file.seek((length - len(end)) * end.itemsize, os.SEEK_CUR)
            file.write(end)
    (path / "header.json").write_text(json.dumps(header | {"nnz": nnz}))
    tracemalloc.start()
    corpus = open_corpus(path)
    found = corpus[1:]
    assert corpus.counts.indices.dtype == corpus.counts.indptr.dtype == np.int64
    assert corpus.counts.nnz == corpus.nnz == nnz
    assert tracemalloc.get_traced_memory()[1] < 1 << 20
    tracemalloc.stop()
    assert found.indices.dtype == found.indptr.dtype == np.int32
    assert_array_equal(found.toarray(), last.toarray())


def bad_blocks():
    """X, feature_names, doc_ids, and what the error says."""
    X = counts(4).astype(float)
    hashed = HashingVectorizer(n_features=7).transform(["some words", "and others"])
    outside = sp.csr_array(([1.0], [0], [0, 1]), shape=(1, 7))
    outside.indices = np.array([7], np.int32)
    other = "must be a list with one string"
    yield [X, X[:, :5]], None, None, r"block 1: X has 5 columns, but the blocks before have 7"
    yield [X], WORDS[:-1], None, r"block 0: X has 7 columns, but feature_names has 6"
    yield [X], [*WORDS[:-1], "wörd 3"], None, "feature_names is invalid: must be distinct .*: 'wörd 3'"
    yield [X], range(7), None, f"feature_names is invalid: {other}"
    yield (
        [X],
        [*WORDS[1:], "a\ud800"],
        None,
        r"feature_names has 'a\\ud800', .* a lone surrogate: .* replaces",
    )
    yield [X, X], None, range(7), "block 1: doc_ids end 1 documents too early"
    yield [X], None, range(5), "there are more doc_ids than the 4 documents"
    yield [X], None, [1, 2, 3, "4"], r"block 0: doc_ids has .4.; strings, or 64-bit integers, are"
    yield [X, X], None, [*"abcdefg", 3], "block 1: doc_ids are to be strings"
    yield [X], None, [2**63] * 4, "block 0: doc_ids has 9223372036854775808"
    yield [X], None, 5, "doc_ids=5: an iterable"
    yield [], None, None, "X has no documents"
    for block, message in (
        (X * np.nan, "NaN"),
        (hashed, "alternate_sign=False, norm=None"),
        (outside, "column indices from 7 to 7"),
        ([["a"]], "X has words"),
        ([1, 2], "Expected 2D"),
        ([[{}]], ""),
    ):
        yield [X, X, block], None, None, f"block 2: .*{message}"
    yield ["red green", "blue"], None, None, "block 0: it is a text; .*iter_counts"
    yield "red green", None, None, "X is a str; a matrix, a Corpus"
    for value in (3, np.int64(3)):
        yield value, None, None, f"X is a {type(value).__name__}; "


def test_what_is_no_corpus_is_named_and_leaves_nothing(path):
    for X, names, ids, message in bad_blocks():
        _, error = outcome(save_corpus, path, X, names, ids)
        assert isinstance(error, (ValueError, TypeError)), (message, error)
        assert re.search(message, str(error)), (message, error)
        assert os.listdir(path.parent) == [], message


def test_an_existing_corpus_is_replaced_only_if_that_is_asked_for(path):
    save_corpus(path, counts(), WORDS, range(50))
    before, corpus = content_of(path), open_corpus(path)
    with pytest.raises(FileExistsError, match="overwrite=True replaces"):
        save_corpus(path, counts(seed=1))
    with pytest.raises(ValueError, match="block 1"):
        save_corpus(path, [counts(), -counts()], overwrite=True)
    assert content_of(path) == before
    assert save_corpus(path, counts(60, seed=1), overwrite=True).shape == (60, 7)
    assert_array_equal(corpus[:].toarray(), counts().toarray())  # who has it open goes on with it
    assert_array_equal(corpus.doc_ids, range(50))
    with pytest.raises(ValueError, match="holds another corpus than when it was pickled"):
        pickle.loads(pickle.dumps(corpus))
    (path / "notes.txt").touch()
    with pytest.raises(ValueError, match=r"not replaced: it holds other files .* as 'notes.txt'"):
        save_corpus(path, counts(), overwrite=True)
    assert os.listdir(path.parent) == ["corpus"]


def put_sub_folder(path):
    (path / "data.npy").unlink()
    (path / "data.npy" / "sub").mkdir(parents=True)
    (path / "data.npy" / "sub" / "thesis.txt").touch()


def put_link(path):
    (path / "data.npy").rename(path.parent / "elsewhere")
    (path / "data.npy").symlink_to(path.parent / "elsewhere")


def put_link_to_a_corpus(path):
    path.rename(path.with_name("precious"))
    path.symlink_to(path.with_name("precious"), target_is_directory=True)


OTHERS = {
    "empty": shutil.rmtree,
    "sub-folder": put_sub_folder,
    "no header": lambda path: (path / "header.json").unlink(),
    "another header": lambda path: (path / "header.json").write_text('{"format": "of another program"}'),
    "another file": lambda path: (path / "feature_names.npy").touch(),
    "link": put_link,
    "linked": put_link_to_a_corpus,
}


@pytest.mark.parametrize("put", OTHERS.values(), ids=OTHERS)
def test_what_is_not_a_corpus_alone_is_not_replaced(tmp_path, put):
    """Whether it is there at the start or comes while blocks are written."""

    def blocks():
        save_corpus(path, counts())
        put(path)
        path.mkdir(exist_ok=True)
        before.append(tree(path.parent, hidden=False))
        yield counts(60)

    for meanwhile, overwrite in product([False, True], repeat=2):
        if put is put_link_to_a_corpus and not meanwhile:
            continue  # `real_path` follows it
        path = tmp_path / f"{meanwhile} {overwrite}" / "corpus"
        path.parent.mkdir()
        before, given = [], blocks()
        if not meanwhile:
            given = [next(given)]
        error, message = (
            (ValueError, "is not replaced") if overwrite else (FileExistsError, "is there already")
        )
        with pytest.raises(error, match=message):
            save_corpus(path, given, overwrite=overwrite)
        assert [tree(path.parent)] == before


def tree(folder, hidden=True):
    return {
        str(entry.relative_to(folder)): os.lstat(entry).st_mtime_ns
        for entry in folder.rglob("*")
        if hidden or ".incomplete" not in str(entry)
    }


def watched_blocks(path):
    """Blocks; the folder in which they are written is open to nobody else."""
    yield counts(60)
    (working,) = path.parent.glob(".corpus.*.incomplete")
    assert stat.S_IMODE(working.stat().st_mode) & 0o777 == 0o700


@pytest.mark.skipif(os.name == "nt", reason="has no such permissions")
def test_a_corpus_that_is_replaced_is_at_no_moment_open_to_more_users(path):
    for folder, file in [(0o700, 0o644), (0o755, 0o600), (0o770, 0o640), (0o500, 0o400)]:
        save_corpus(path, counts(), overwrite=True)
        for entry in path.iterdir():
            entry.chmod(file)
        path.chmod(folder)
        assert save_corpus(path, watched_blocks(path), overwrite=True).shape[0] == 60
        assert stat.S_IMODE(path.stat().st_mode) == folder
        assert {stat.S_IMODE(entry.stat().st_mode) for entry in path.iterdir()} == {file}
        assert os.listdir(path.parent) == ["corpus"]


@pytest.mark.skipif(os.name == "nt", reason="has no such permissions")
def test_a_new_corpus_has_the_usual_permissions(tmp_path):
    for umask, mode in [(0o022, 0o755), (0o077, 0o700), (0o007, 0o2755)]:
        folder = tmp_path / f"{umask}"
        folder.mkdir()
        folder.chmod(mode)
        before = os.umask(umask)
        try:
            save_corpus(folder / "corpus", watched_blocks(folder / "corpus"))
            (folder / "folder").mkdir()
            (folder / "file").touch()
        finally:
            os.umask(before)
        assert (folder / "corpus").stat().st_mode == (folder / "folder").stat().st_mode
        for entry in (folder / "corpus").iterdir():
            assert entry.stat().st_mode == (folder / "file").stat().st_mode


def test_a_corpus_that_is_replaced_while_it_is_opened_is_opened_anew(path, monkeypatch):
    save_corpus(path, counts())
    parsed = _corpus._parsed

    def replace_first(text):
        monkeypatch.undo()
        save_corpus(path, counts(60), overwrite=True)
        return parsed(text)

    monkeypatch.setattr(_corpus, "_parsed", replace_first)
    assert open_corpus(path)[:].shape == (60, 7)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # closed by the collector
@pytest.mark.parametrize("overwrite", [False, True])
def test_ctrl_c_at_any_line_leaves_the_old_corpus_or_the_new_one_alone(path, monkeypatch, overwrite):
    """Two blocks, of which the second needs a larger type; the lines of the module that writes."""
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)
    blocks, sizes = [counts(4), counts(2) * 300], []
    expected = {0: [], 3: counts(3).toarray(), 6: sp.vstack(blocks).toarray()}

    def prepare():
        shutil.rmtree(path, ignore_errors=True)
        if overwrite:
            save_corpus(path, counts(3))

    def save():
        save_corpus(path, blocks, WORDS, range(6), overwrite=overwrite)

    for line in acting_at_each_line(_corpus_writer, press_ctrl_c, prepare, save):
        names = os.listdir(path.parent)
        assert names == ["corpus"] or (names == [] and not overwrite), f"line {line}: {names}"
        found = open_corpus(path, verify=True)[:].toarray() if names else []
        sizes.append(len(found))
        assert_array_equal(found, expected[len(found)], err_msg=f"line {line}")
    assert len(sizes) > 100 and [sizes[0], sizes[-1]] == [3 * overwrite, 6]


def test_a_folder_that_cannot_be_renamed_leaves_what_was_there(path, monkeypatch):
    rename = os.rename
    for overwrite, ending in [(False, ".incomplete"), (True, "corpus"), (True, ".incomplete")]:

        def refuse(old, new, ending=ending):
            if str(old).endswith(ending):
                raise PermissionError
            rename(old, new)

        if overwrite:
            save_corpus(path, counts(), overwrite=True)
        before = tree(path.parent)
        monkeypatch.setattr(_corpus_writer.os, "rename", refuse)
        with pytest.raises(PermissionError):
            save_corpus(path, counts(60), overwrite=overwrite)
        monkeypatch.undo()
        assert tree(path.parent) == before


def test_errors_of_models_name_the_folder_of_a_damaged_corpus(path):
    model = OnlineEMLDA(2, max_iter=1).fit(counts())
    for name, place in (("indices", -1), ("indptr", -17)):  # of the highest byte of a number
        corpus = save_corpus(path, counts(), overwrite=True)
        file = path / f"{name}.npy"
        content = bytearray(file.read_bytes())
        content[place] = 0x40
        file.write_bytes(content)
        for call in (model.transform, model.fit, partial(document_completion, model)):
            assert_raises(ValueError, re.escape(f"{corpus.path}: X has "), call, open_corpus(path))


def test_names_come_along_with_a_corpus_and_a_data_frame(tmp_path):
    X = counts(3000)
    first = save_corpus(tmp_path / "first", pd.DataFrame(X.toarray(), columns=WORDS), doc_ids=range(3000))
    second = save_corpus(tmp_path / "second", first)
    assert_array_equal(second.feature_names, WORDS)
    assert_array_equal(second.doc_ids, range(3000))
    assert content_of(tmp_path / "first") == content_of(tmp_path / "second")
    assert save_corpus(tmp_path / "third", X).feature_names is None
    assert open_corpus(tmp_path / "third").doc_ids is None
    renamed = save_corpus(tmp_path / "renamed", first, WORDS[::-1])
    assert_array_equal(renamed.feature_names, WORDS[::-1])


def test_columns_of_data_frames_have_the_same_names(path):
    """Otherwise counts would be those of other words."""
    X = counts(4)
    frame = pd.DataFrame(X.toarray(), columns=WORDS)
    other, moved = frame.rename(columns={"wörd 3": "new"}), frame[WORDS[::-1]]
    first = "block 2: X has 'wörd 6' in column 0, but the blocks before have 'wörd 0'"
    for blocks, names, message in (
        ([frame, frame, moved], None, first),
        ([frame, other], None, "block 1: X has 'new' in column 3, but the blocks before have 'wörd 3'"),
        ([X, frame, other], None, "block 2: X has 'new' in column 3"),
        (moved, WORDS, "block 0: X has 'wörd 6' in column 0, but feature_names has 'wörd 0'"),
        (frame[WORDS[:2] * 2], None, "(?s)block 0: .* 'wörd 1'"),
        ([X, moved], WORDS, "block 1: X has 'wörd 6' in column 0"),
    ):
        assert_raises(ValueError, message, save_corpus, path, blocks, names)
    corpus = save_corpus(path, [frame, X, frame])
    assert_array_equal(corpus.feature_names, WORDS)
    assert_array_equal(corpus[:].toarray(), np.vstack([X.toarray()] * 3))


# Where blocks come from


@pytest.mark.slow
def test_parquet_files_are_read_by_blocks(tmp_path):
    arrow = pytest.importorskip("pyarrow")
    pytest.importorskip("dask")
    import pyarrow.dataset
    import pyarrow.parquet

    X = counts(30)
    rows = [X[[i]] for i in range(30)]
    kinds = arrow.list_(arrow.int32()), arrow.list_(arrow.float64())

    def write(name, rows, index=kinds[0], value=kinds[1], **columns):
        columns = {
            "ids": arrow.array([[None]] * len(rows)),
            "indices": arrow.array([row.indices.tolist() for row in rows], index),
            "counts": arrow.array([row.data.tolist() for row in rows], value),
        } | columns
        pyarrow.parquet.write_table(arrow.table(columns), tmp_path / name, row_group_size=7)
        return tmp_path / name

    large = arrow.large_list(arrow.uint16())
    paths = [write("a.parquet", rows[:20]), write("none.parquet", []), write("b.parquet", rows[20:])]
    wide = write("c", rows, large, large)
    for source in (paths, [str(path) for path in paths], wide, pyarrow.dataset.dataset(wide)):
        blocks = list(iter_parquet(source, 7, block_size=6))
        assert all(0 < block.shape[0] <= 6 for block in blocks)
        assert_array_equal(sp.vstack(blocks).toarray(), X.toarray())
    for source in (paths, str(wide)):
        array = read_parquet(source, 7)
        assert array.chunks[0] == (7, 7, 6, 7, 3) if source is paths else (7, 7, 7, 7, 2)
        assert_array_equal(array.compute().toarray(), X.toarray())
    small = arrow.array([[200, 200]], arrow.list_(arrow.uint8()))
    again = write("again", rows[:1], indices=[[0, 0]], counts=small)
    assert next(iter_parquet(again, 7)).toarray()[0, 0] == 400
    save_corpus(tmp_path / "corpus", iter_parquet(paths, 7))
    save_corpus(tmp_path / "expected", X)
    assert content_of(tmp_path / "corpus") == content_of(tmp_path / "expected")
    ones, has = [[1]] * 30, "documents 0 to 7: the column 'indices' has word indices from"
    with pytest.raises(ValueError, match=f"{has} 0 to 6; must be 0 to 4"):
        save_corpus(tmp_path / "narrow", iter_parquet(paths, 5))
    for columns, message in (
        ({"counts": ones}, "documents 0 to 7: 'indices' and 'counts' have lists of different lengths"),
        ({"counts": [None] * 30}, "'counts' has null; must have lists of numbers"),
        ({"counts": [None] + [[1]] * 29}, "'counts' has nulls"),
        ({"counts": [[None]] * 30}, "'counts' has nulls|lists of null"),
        ({"counts": [["a"]] * 30}, "'counts' has lists of string"),
        ({"indices": [[1.0]] * 30}, "'indices' has lists of double; must have integer numbers"),
        ({"indices": [[2**40]] + [[0]] * 29, "counts": ones}, f"{has} 0 to 1099511627776; must be 0 to 6"),
        ({"indices": [[-1]] * 30, "counts": ones}, f"{has} -1 to -1"),
        ({"indices": [[np.uint64(2**64 - 1)]] * 30, "counts": ones}, f"{has} 18446744073709551615 to"),
    ):
        bad = write("bad", rows, **columns)
        assert_raises(ValueError, message, list, iter_parquet(bad, 7))
        message = message.replace("documents 0 to 7", "row group 0 of .*bad")
        assert_raises(ValueError, message, read_parquet(bad, 7).blocks[0].compute)
    for read in (iter_parquet, read_parquet):
        there_are = r"no column 'words'. The columns are \['ids', 'indices', 'counts'\]"
        with pytest.raises(ValueError, match=there_are):
            list(read(wide, 7, indices="words"))
        with pytest.raises(ValueError, match="n_features == 0"):
            list(read(wide, 0))


class Stored:
    """As a dataset of h5py or of anndata: slices of rows are read, and nothing else."""

    def __init__(self, matrix):
        self.matrix, self.shape, self.dtype = matrix, matrix.shape, matrix.dtype

    def __getitem__(self, rows):
        assert isinstance(rows, slice)
        return self.matrix[rows]


def test_matrices_that_other_programs_keep_in_files_are_read_from_there(tmp_path):
    X = counts(3000).astype(np.float32)
    for i, matrix in enumerate((X.toarray(), X)):
        corpus = save_corpus(tmp_path / str(i), Stored(matrix), WORDS)
        assert_array_equal(corpus.counts.toarray(), X.toarray())
