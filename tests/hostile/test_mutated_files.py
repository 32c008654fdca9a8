"""Files of models that are damaged or forged: a ValueError that says so, or the same model; never a crash.

A case is (estimator, kind of mutation, seed). Each runs in a child process that may not take much more memory
than it has, and writes the mutated file, loads it in three ways and compares. Where a forger has mended the
checksums, another model is a right answer, if it answers with finite numbers or a ValueError.

``SKTOPIC_HOSTILE_CASES=40000 pytest tests/hostile/test_mutated_files.py`` runs 20,000 mutated files.
"""

import collections
import contextlib
import copy
import hashlib
import io
import json
import os
import random
import resource
import struct
import warnings
import zipfile

import numpy as np
import pytest

import sktopic
from sktopic._runtime._array_archive import PADDING_ID
from sktopic.inspection import name_topics
from sktopic.seeding import seed_prior

from .tools import N_CASES, WATCHED, corpus, failures, fingerprint, new, note, outcome, share

X = corpus()
# One of each kind of training loop; with parameters that are arrays, sparse, tuples, scalars and generators.
MODELS = {
    "OnlineEMLDA": {"doc_topic_prior": np.full(3, 0.3), "random_state": np.random.RandomState(0)},
    "CollapsedGibbsLDA": {"thinning": np.int64(2)},
    "DirectAssignmentHDP": {"doc_concentration_prior": (1.0, 2.0)},
    "DirectAssignmentHDP, memoized": {"learning_method": "memoized"},
    "HybridHDP": {},
    "HybridLDA": {"topic_word_prior": seed_prior({2: ["w1"]}, [f"w{i}" for i in range(7)], 3)},
    "DegenerateDirichletLDA": {"n_components_prior": "uniform"},
}
# Bytes that loading may take beyond what the process has: of which reading a file of some KB needs little.
SPARE_BYTES = 64 << 20
WAYS = {}, {"mmap_mode": "r"}, {"mmap_mode": "r", "verify": False}


# Archives as a list of names and contents, which are zipped anew


def entries_of(content):
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return [[name, archive.read(name)] for name in archive.namelist()]


def zipped(entries, alignment=64, method=zipfile.ZIP_STORED):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of duplicate names
        for name, content in entries:
            entry = zipfile.ZipInfo(name)
            entry.compress_type = method
            begin = file.tell() + 30 + len(name.encode()) + 20
            size = -(begin + 4) % alignment
            entry.extra = struct.pack("<HH", PADDING_ID, size) + bytes(size)
            with archive.open(entry, "w", force_zip64=True) as opened:
                opened.write(content)
    return file.getvalue()


def header_of(entries):
    return json.loads(dict(entries)["header.json"])


def with_text(entries, text):
    return [[name, text if name == "header.json" else content] for name, content in entries]


def with_header(entries, header):
    return with_text(entries, json.dumps(header).encode())


def arrays_of(entries):
    return [i for i, (name, content) in enumerate(entries) if name.endswith(".npy") and len(content) > 128]


def header_length(content):
    return 10 + struct.unpack("<H", content[8:10])[0]


def with_digest(entries, i):
    """The entries, with the digest of one mended."""
    name, content = entries[i]
    header = header_of(entries)
    data = content[header_length(content) :]
    header["arrays"][name.removesuffix(".npy")]["sha256"] = hashlib.sha256(data).hexdigest()
    return with_header(entries, header)


# Mutations: functions of the content of a file and a generator; those of FORGERIES mend the checksums

INTEGERS = (0, 1, 2, 63, 64, 255, 2**15, 2**16 - 1, 2**31 - 1, 2**31, 2**32 - 1, 2**63 - 1, 2**63, 2**64 - 1)
# Keys that are added to what has keys.
NAMES = "more", "_state.words.store", "_statistics.store", "components_", "__class__", "n_jobs"
VALUES = (
    *INTEGERS,
    -1,
    -(2**63),
    10**300,
    0.5,
    -0.0,
    1e308,
    5e-324,
    True,
    False,
    None,
    "",
    "auto",
    "\ud800",
    [],
    {},
    [0] * 624,
    [[]],
    {"tuple": [1, 2]},
    {"tuple": [{"tuple": []}]},
    {"numpy": ["<i8", 3]},
    {"numpy": ["<f4", 1e300]},
    {"numpy": ["|O", 3]},
    {"numpy": ["<U9999999999", "a"]},
    {"array": None},
    {"sparse": ["csr_array", [3, 7]]},
    {"random_state": [[0] * 624, 0, 0, 0.0]},
    {"random_state": [[0] * 624, -1, 2, "x"]},
    {"__class__": "os.system"},
)
TEXTS = (
    "NaN",
    "-Infinity",
    "1e999",
    "9" * 400,
    "9" * 10_000,
    "[" * 5000,
    '{"a":' * 5000,
    '"',
    "]",
    "\0",
    "\xff",
)


def flip_bits(content, draw):
    mutated = bytearray(content)
    for _ in range(draw.choice((1, 1, 2, 8, 64))):
        mutated[draw.randrange(len(mutated))] ^= 1 << draw.randrange(8)
    return bytes(mutated)


def cut_or_extend(content, draw):
    at = draw.randrange(len(content))
    return draw.choice(
        (
            content[:at],
            content[at:],
            content[: -draw.randrange(1, 100)],
            content + bytes(draw.randrange(1, 100)),
            content + content,
            content[:at] + bytes(draw.randrange(1, 100)) + content[at:],
            content[:at] + content[at + draw.randrange(1, 100) :],
            b"",
            b"PK\5\6" + bytes(18),
        )
    )


def splice(content, draw):
    size, source, target = draw.randrange(1, 200), draw.randrange(len(content)), draw.randrange(len(content))
    part = content[source : source + size]
    return content[:target] + part + content[target + len(part) :]


def edit_zip_field(content, draw):
    """A number in a record of the zip format is another one; or two records are exchanged."""
    records = [(b"PK\3\4", 30), (b"PK\1\2", 46), (b"PK\5\6", 22)]
    signature, size = draw.choice(records)
    places, at = [], content.find(signature)
    while at >= 0:
        places.append(at)
        at = content.find(signature, at + 1)
    at, mutated = draw.choice(places), bytearray(content)
    if draw.random() < 0.2:
        other = draw.choice(places)
        mutated[at : at + size], mutated[other : other + size] = content[other:][:size], content[at:][:size]
        return bytes(mutated)
    width = draw.choice((2, 4))
    field = at + draw.randrange(4, size - width + 1, 2)
    old = int.from_bytes(content[field : field + width], "little")
    number = draw.choice((*INTEGERS, old + 1, old - 1, old * 2, old + 64, draw.randrange(len(content))))
    mutated[field : field + width] = (number % 2 ** (8 * width)).to_bytes(width, "little")
    return bytes(mutated)


def edit_entries(content, draw):
    """Entries exchanged, there twice, missing, renamed, compressed or not aligned."""
    entries = entries_of(content)
    i, j = draw.sample(range(len(entries)), 2)
    kind = draw.randrange(9)
    if kind == 0:
        entries[i][0], entries[j][0] = entries[j][0], entries[i][0]
    elif kind == 1:
        entries.append(list(entries[i]))
    elif kind == 2:
        entries.append([entries[i][0], entries[j][1]])
    elif kind == 3:
        del entries[i]
    elif kind == 4:
        entries[i][0] = draw.choice(("../a.npy", "/etc/passwd", "fitted/", "C:\\a.npy", "ä.npy", "x" * 300))
    elif kind == 5:
        entries.append([draw.choice(("../a.npy", "fitted/__class__.npy", "a/b/c")), entries[i][1]])
    elif kind == 6:
        return zipped(entries, method=zipfile.ZIP_DEFLATED)
    elif kind == 7:
        entries[i][1] = bytes(1 << 20)
        return zipped(entries, method=zipfile.ZIP_BZIP2)
    else:
        return zipped(entries, alignment=draw.choice((1, 2, 4, 8, 32)))
    return zipped(entries)


def edit_npy_header(content, draw):
    entries = entries_of(content)
    i = draw.choice(arrays_of(entries))
    array = entries[i][1]
    length = header_length(array)
    text = array[10:length].decode("latin-1").rstrip()
    version, size = draw.choice(((1, "<H"), (1, "<H"), (2, "<I"), (3, "<I"), (9, "<H")))
    text = draw.choice(
        (
            text.replace("'<f8'", draw.choice(("'|O'", "'<f4'", "'>f8'", "'<i8'", "'V8'", "'U9999999999'"))),
            text.replace("False", "True"),
            text.replace("(", "(" + draw.choice(("1, ", "0, ", "-1, ", "99999999999, "))),
            "(" * 5000,
            "__import__('os').system('false')",
            text + " " * draw.choice((1, 63, 60_000)),
            "{}",
            "",
        )
    )
    said = draw.choice((len(text), len(text), 0, 65535, 2**31))
    packed = struct.pack(size, said % 2 ** (8 * struct.calcsize(size)))
    entries[i][1] = array[:6] + bytes([version, 0]) + packed + text.encode("latin-1") + array[length:]
    return zipped(entries)


def edit_json_text(content, draw):
    entries = entries_of(content)
    text = dict(entries)["header.json"].decode()
    places = [i for i, letter in enumerate(text) if letter in ":,[{"]
    at = draw.choice(places) + 1
    inserted = draw.choice(TEXTS)
    end = at + draw.choice((0, 1, 3, 10))
    return zipped(with_text(entries, (text[:at] + inserted + text[end:]).encode("latin-1")))


def edit_json_value(content, draw):
    """Any value of the header is another, its key is gone or there is one more."""
    entries = entries_of(content)
    header = header_of(entries)
    places = []

    def visit(value):
        for key in value if isinstance(value, dict) else range(len(value)):
            places.append((value, key))
            if isinstance(value[key], (dict, list)):
                visit(value[key])

    for part in (header, header["arrays"], header["parameters"], header["fitted"]):
        places.extend((part, key) for key in part)
    visit({key: value for key, value in header.items() if key != "parameters"})
    value, key = draw.choice(places)
    kind = draw.randrange(8)
    if kind == 0:
        del value[key]
    elif kind == 1:
        if isinstance(value, dict):
            value[draw.choice(NAMES)] = draw.choice(VALUES)
        else:
            value.append(draw.choice(VALUES))
    elif kind == 2:
        other, other_key = draw.choice(places)
        value[key], other[other_key] = copy.deepcopy(other[other_key]), copy.deepcopy(value[key])
    else:
        value[key] = copy.deepcopy(draw.choice(VALUES))
    return zipped(with_header(entries, header))


def forge_numbers(content, draw):
    entries = entries_of(content)
    i = draw.choice(arrays_of(entries))
    array = entries[i][1]
    mutated, n_bytes = bytearray(array), len(array) - header_length(array)
    width = draw.choice([width for width in (1, 4, 8) if width <= n_bytes])
    n = n_bytes // width
    numbers = (0.0, -1.0, 1e300, -1e300, 5e-324, float("nan"), float("inf"))
    for _ in range(draw.choice((1, 1, 5))):
        at = header_length(array) + width * draw.randrange(n)
        number = draw.choice((*INTEGERS, *(struct.unpack("<Q", struct.pack("<d", x))[0] for x in numbers)))
        mutated[at : at + width] = (number % 2 ** (8 * width)).to_bytes(width, "little")
    entries[i][1] = bytes(mutated)
    return zipped(with_digest(entries, i))


def forge_shape(content, draw):
    """An array of another shape or dtype, truly or only by its headers."""
    entries = entries_of(content)
    i = draw.choice(arrays_of(entries))
    name, entry = entries[i]
    array = np.load(io.BytesIO(entry), allow_pickle=False)
    header = header_of(entries)
    declared = header["arrays"][name.removesuffix(".npy")]
    if draw.random() < 0.5:
        shapes = ([2**62, 8], [0, 2**62], [2**31, 2**31, 2**31], [len(array) + 1, *array.shape[1:]], [1] * 9)
        declared["shape"] = list(draw.choice(shapes))
        if draw.random() < 0.5:
            length = header_length(entry)
            said = entry[:length].replace(str(array.shape).encode(), str(tuple(declared["shape"])).encode())
            entries[i][1] = said[:10] + said[10:].rstrip().ljust(length - 11) + b"\n" + entry[length:]
    else:
        with np.errstate(all="ignore"):
            array = draw.choice(
                (
                    array[:-1],
                    np.concatenate([array, array]),
                    array.T,
                    array[None],
                    array.astype(draw.choice(("f4", "i8", "u1", ">f8", "c16", "U3")))
                    if array.dtype.names is None
                    else array[array.dtype.names[0]],
                )
            )
        file = io.BytesIO()
        np.save(file, np.ascontiguousarray(array))
        entries[i][1] = file.getvalue()
        declared.update(dtype=array.dtype.str, shape=list(array.shape))
    return zipped(with_digest(with_header(entries, header), i))


DAMAGES = (flip_bits, cut_or_extend, splice, edit_zip_field, edit_entries, edit_npy_header, edit_json_text)
FORGERIES = edit_json_value, forge_numbers, forge_shape
KINDS = {mutate.__name__: mutate for mutate in (*DAMAGES, *FORGERIES)}


# A case, in a child process

_originals = {}


def _original(folder, name):
    """The content of a file, and the fitted state of its model."""
    if name not in _originals:
        path = os.path.join(folder, "original.zip")
        model = new(name, **MODELS[name]).fit(X)
        if name == "HybridLDA":
            name_topics(model.freeze_topics([1]), {1: "frozen"})
        model.save(path)
        with open(path, "rb") as file:
            content = file.read()
        assert zipped(entries_of(content)) == content
        model.transform(X)
        _originals[name] = content, fingerprint(vars(model))
    return _originals[name]


@contextlib.contextmanager
def limited_memory():
    if WATCHED:  # under AddressSanitizer, which reserves terabytes
        yield
        return
    with open("/proc/self/statm") as file:
        size = int(file.read().split()[0]) * resource.getpagesize()
    limits = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (size + SPARE_BYTES, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, limits)


def load_mutated(folder, name, kind, seed):
    """Notes what came of it: "error", "same" or "other" for each way to load the file."""
    content, expected = _original(folder, name)
    mutated = KINDS[kind](content, random.Random(f"{name} {kind} {seed}"))
    path = os.path.join(folder, "mutated.zip")
    with open(path, "wb") as file:
        file.write(mutated)
    outcomes = []
    for way in WAYS:
        with limited_memory():
            model, error = outcome(lambda way=way: sktopic.load(path, **way))
        if error is not None:
            assert type(error) is ValueError, f"{type(error).__name__}: {error}"
            assert str(error).startswith(f"{path} cannot be loaded: "), f"unclear: {error}"
            assert len(str(error)) < 1000, "a message without end"
            outcomes.append("error")
            continue
        if fingerprint(vars(model)) == expected:
            outcomes.append("same")
            continue
        unverified = way.get("verify", True) is False
        assert KINDS[kind] in FORGERIES or unverified, f"another model, loaded with {way}"
        outcomes.append("other")
        if kind != "edit_json_value":  # parameters may ask for years of work
            use(model)
    note((kind, tuple(outcomes)))


def use(model):
    """Wrong numbers may give wrong answers, or errors; what kernels do with them is tested elsewhere, too."""
    for call in (model.transform, model.score, model.partial_fit):
        with np.errstate(all="ignore"), warnings.catch_warnings(), contextlib.suppress(Exception):
            warnings.simplefilter("ignore")
            call(X)


def cases_of(folder, name):
    n = share(0.5 / len(MODELS), least=len(KINDS))
    return [(str(folder), name, list(KINDS)[i % len(KINDS)], i) for i in range(n)]


@pytest.mark.parametrize("name", MODELS)
def test_mutated_files_are_refused_or_stand_for_the_same_model(name, tmp_path):
    counts = collections.Counter()

    def count(noted):
        if isinstance(noted, tuple):
            counts[noted] += 1

    cases = cases_of(tmp_path, name)
    found = failures(load_mutated, cases, on_note=count)
    for (kind, outcomes), number in sorted(counts.items()):
        print(f"{name} {kind}: {', '.join(outcomes)}: {number}")
    assert not found, "\n".join(found[:20])
    assert counts.total() == len(cases)
    if N_CASES >= 1000:
        assert {outcome for _, outcomes in counts for outcome in outcomes} == {"error", "same", "other"}
