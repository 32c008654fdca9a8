"""Fitted models in files: what the header of an archive says of a model, and which model it stands for.

The classes declare what training sets (see _fitted_arrays); nothing else but names is written or read, so
that a file can set no other attribute. Arrays are ``fitted/NAME``, ``fitted/STATE.FIELD`` and, of parameters,
``parameters/NAME``. What JSON cannot say of a parameter is an object with one key: "tuple", "numpy" (a
scalar), "random_state" or, with the arrays ``parameters/NAME/PART``, "sparse". Numbers are finite: the ranges
of parameters leave no others.
"""

import hashlib
import os
import platform
import stat

import numpy as np
import scipy
import scipy.sparse as sp
import sklearn

from sktopic._documents._matrices import check_sparse_structure
from sktopic._estimators._fitted_arrays import (
    attributes_of,
    check_fitted_values,
    declared_arrays,
    fitted_names,
    fitted_of,
    fitted_values,
    optional_arrays,
)
from sktopic._estimators._topic_names import check_pairs
from sktopic._runtime._array_archive import ArrayArchive, write_archive
from sktopic._runtime._files import write_file

FORMAT = "sktopic model"
# Raised when files change; before the first release all have this one.
SCHEMA = 1
KEYS = {"format", "schema", "class", "versions", "parameters", "fitted", "names", "output"}
# Attributes that scikit-learn sets: the names of features, the container of set_output ...
NAMES, OUTPUT = "feature_names_in_", "_sklearn_output_config"
# ... names of topics, which users give ...
TOPIC_NAMES = "_topic_names"
# ... and callbacks, which belong to the process that trains.
NOT_STORED = {"_skl_callbacks"}
CONTAINERS = "default", "pandas", "polars"
# Numbers that arrays and NumPy scalars can be of, in both byte orders, by their names.
DTYPES = {
    dtype.str: dtype
    for code in ("b1", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8")
    for dtype in (np.dtype(code), np.dtype(code).newbyteorder())
}
# Sparse matrices as they are stored, and their arrays; those of other formats become CSR.
SPARSE = {kind.__name__: kind for kind in (sp.csr_array, sp.csr_matrix, sp.csc_array, sp.csc_matrix)}
PARTS = "data", "indices", "indptr"
# The state of RandomState: words of the key, and numbers after them.
KEY_SIZE = 624


def write_model(model, path):
    """Write a fitted model to a file; it does not change meanwhile.

    Raises
    ------
    TypeError
        For a class, a parameter or an attribute that cannot be stored.
    ValueError
        For parameters or fitted values that could not be loaded.
    OSError
        If the file cannot be written.
    """
    model._check_settings()
    check_fitted_values(model)
    if vars(model).get(NAMES) is not None:
        checked_feature_names(vars(model)[NAMES], model.n_features_in_)
    header, arrays = _described(model)
    write_file(path, lambda file: write_archive(file, header, arrays))


def read_model(path, classes, mapped=False, verify=True):
    """Return the model that a file stands for, of one of the classes (dict by name).

    Raises
    ------
    ValueError
        If the file is no such file, is damaged, or is of a later version.
    OSError
        If it cannot be read.
    """
    mode = os.stat(os.fspath(path)).st_mode
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):  # of which open says so; a pipe would let it wait
        raise ValueError(f"{path} cannot be loaded: it is no regular file")
    with open(path, "rb") as file:
        try:
            return _model_of(ArrayArchive(file), classes, mapped, verify)
        except ValueError as error:
            raise ValueError(f"{path} cannot be loaded: {error!s:.800}") from error


# Writing


def _described(model):
    """The header and the arrays of a model."""
    cls = type(model)
    if cls.__module__.partition(".")[0] != __name__.partition(".")[0]:
        raise TypeError(f"{cls.__name__} is not a class of sktopic: only those can be stored")
    state = vars(model).copy()
    parameters, arrays = {}, {}
    for name in cls._get_param_names():
        value = getattr(model, name)  # one that was deleted may have a value in its class
        state.pop(name, None)
        if type(value) in (np.ndarray, np.memmap) and value.dtype.str in DTYPES:
            arrays[f"parameters/{name}"] = value
        elif sp.issparse(value) and value.ndim == 2 and value.dtype.str in DTYPES:
            parameters[name], parts = _described_sparse(value)
            arrays.update({f"parameters/{name}/{part}": array for part, array in parts.items()})
        else:
            try:
                parameters[name] = _encoded(value)
            except TypeError as error:
                raise TypeError(f"the parameter {name} of {cls.__name__} cannot be stored: {error}") from None
    fitted = {}
    for name, value in fitted_of(cls, state).items():
        if isinstance(value, np.ndarray):
            arrays[f"fitted/{name}"] = value
        else:
            fitted[name] = _encoded(value)
    for name in fitted_names(model) - {NAMES, TOPIC_NAMES}:
        state.pop(name, None)
    names, output = _described_names(state), state.pop(OUTPUT, {})
    header = {
        "format": FORMAT,
        "schema": SCHEMA,
        "class": cls.__name__,
        "versions": _versions(),
        "parameters": parameters,
        "fitted": fitted,
        "names": names,
        "output": output.get("transform"),
    }
    unknown = sorted(state.keys() - NOT_STORED)
    if unknown:
        raise TypeError(
            f"the attribute {unknown[0]} of this {cls.__name__} cannot be stored: it is neither a parameter "
            "nor set by training"
        )
    return header, arrays


def _described_names(state):
    """What the header says of names, which leave the state; of topics, only if they have some."""
    features, topics = state.pop(NAMES, None), state.pop(TOPIC_NAMES, ())
    names = {"features": None if features is None else list(features)}
    return {**names, "topics": topics} if topics else names


def checked_feature_names(names, n_features, parameter=NAMES):
    """Return names as an array of objects; ValueError unless there is a string for each feature."""
    try:
        array = np.array(names, dtype=object)
    except ValueError:  # of sequences of different sizes
        array = np.empty(())
    if array.ndim != 1 or not all(isinstance(name, str) for name in array):
        raise ValueError(f"{parameter} is invalid: must be a list of strings, one for each feature.")
    if len(array) != n_features:
        raise ValueError(f"{parameter} has {len(array)} names, for {n_features!r:.40} features.")
    return array


def _versions():
    """What the file is written with, to tell later where it is from."""
    import sktopic

    packages = {"sktopic": sktopic, "numpy": np, "scipy": scipy, "scikit-learn": sklearn}
    versions = {name: package.__version__ for name, package in packages.items()}
    return {**versions, "python": platform.python_version()}


def _described_sparse(matrix):
    """A sparse matrix as JSON has it, and its arrays."""
    if type(matrix).__name__ not in SPARSE:
        matrix = (sp.csr_array if isinstance(matrix, sp.sparray) else sp.csr_matrix)(matrix)
    parts = {part: getattr(matrix, part) for part in PARTS}
    return {"sparse": [type(matrix).__name__, list(matrix.shape)]}, parts


def _encoded(value):
    """A value as JSON has it."""
    kind = type(value)
    if value is None or kind in (bool, int, float, str):
        return value
    if kind is list:
        return [_encoded(item) for item in value]
    if kind is tuple:
        return {"tuple": [_encoded(item) for item in value]}
    if isinstance(value, np.str_):
        return {"numpy": ["str", str(value)]}
    if isinstance(value, np.generic) and value.dtype.str in DTYPES:
        return {"numpy": [value.dtype.str, _encoded(value.item())]}
    if kind is np.random.RandomState:
        return {"random_state": _encoded_random_state(value)}
    raise TypeError(
        f"it is a {kind.__name__}; None, numbers, strings, lists and tuples of these, arrays and sparse "
        "matrices of numbers and RandomState are allowed"
    )


def _encoded_random_state(random_state):
    state = random_state.get_state(legacy=False)
    name, inner = state["bit_generator"], state["state"]
    if name != "MT19937":
        raise TypeError(f"it is a RandomState over {name}; one over MT19937, the default, is allowed")
    return [inner["key"].tolist(), inner["pos"], state["has_gauss"], state["gauss"]]


# Digests


def described(values):
    """What tells values (a dict) from others, by name: as JSON has them, and digests of arrays."""
    found = {}
    for name, value in values.items():
        try:
            found[name] = _encoded(value)
        except TypeError:
            array = np.asarray(value)
            if array.dtype.hasobject:
                raise
            found[name] = _digest(array.tobytes())
    return found


def digest_of_text(text):
    """A name for a text that no other has."""
    return _digest(text.encode("utf-8", "surrogatepass"))


def _digest(content):
    return hashlib.blake2b(content, digest_size=16).hexdigest()


# Reading


def _model_of(archive, classes, mapped, verify):
    header = archive.header
    if header.get("format") != FORMAT:
        raise ValueError("it is an archive, but not of a topic model")
    schema, versions = header.get("schema"), header.get("versions")
    if type(schema) is not int or schema < 1:
        raise ValueError(f"its schema is {schema!r:.40}, where {SCHEMA} is allowed")
    if type(versions) is not dict or not all(type(number) is str for number in versions.values()):
        raise ValueError("it does not say of which versions it is")
    if schema > SCHEMA:
        raise ValueError(
            f"it was written by sktopic {versions.get('sktopic', '?'):.40} under schema {schema}, and this "
            f"version reads schema {SCHEMA}"
        )
    if header.keys() != KEYS:
        raise ValueError(f"its header lacks, or should not have, {_some(header.keys() ^ KEYS)}")
    cls = classes.get(header["class"]) if type(header["class"]) is str else None
    if cls is None:
        raise ValueError(
            f"its class {header['class']!r:.80} is unknown; known are {', '.join(sorted(classes))}"
        )
    model = cls(**_parameters(archive, header["parameters"], cls))
    _set_fitted(model, archive, header["fitted"], mapped, verify)
    unread = [name for name in archive.declared if not _is_read(name, cls)]
    if unread:
        raise ValueError(f"a {cls.__name__} has no arrays {_some(unread)}")
    _set_names(model, header["names"])
    _set_container(model, header["output"])
    return _checked(model)


def _is_read(name, cls):
    folder, _, attribute = name.partition("/")
    if folder == "parameters":
        return attribute.partition("/")[0] in cls._get_param_names()
    return folder == "fitted" and attribute in declared_arrays(cls)


def _parameters(archive, encoded, cls):
    prefix = "parameters/"
    stored = {name.removeprefix(prefix) for name in archive.declared if name.startswith(prefix)}
    given, wanted = _object(encoded, "parameters"), set(cls._get_param_names())
    sparse = {name for name, value in given.items() if type(value) is dict and value.keys() == {"sparse"}}
    parts = {f"{name}/{part}" for name in sparse for part in PARTS}
    if not parts <= stored:
        raise ValueError(f"arrays of sparse parameters are missing: {_some(parts - stored)}")
    stored -= parts
    if given.keys() & stored or given.keys() | stored != wanted:
        names = (given.keys() & stored) | ((given.keys() | stored) ^ wanted)
        raise ValueError(f"parameters of {cls.__name__} are missing, unknown or there twice: {_some(names)}")
    parameters = {name: _decoded(value) for name, value in given.items() if name not in sparse}
    parameters |= {name: _parameter_array(archive, name) for name in stored}
    return parameters | {name: _sparse_parameter(archive, name, given[name]["sparse"]) for name in sparse}


def _parameter_array(archive, name):
    dtype = archive.declared[f"parameters/{name}"].dtype
    if dtype not in DTYPES:
        raise ValueError(f"the parameter {name} is an array of {dtype!r:.40}, where numbers are allowed")
    return archive.array(f"parameters/{name}", DTYPES[dtype])


def _sparse_parameter(archive, name, described):
    """A sparse matrix whose arrays are checked before scipy reads them."""
    kind, shape = described if type(described) is list and len(described) == 2 else (None, None)
    sizes = type(shape) is list and len(shape) == 2 and all(type(n) is int and 0 <= n < 2**31 for n in shape)
    if type(kind) is not str or kind not in SPARSE or not sizes:
        raise ValueError(f"the parameter {name} is no sparse matrix: {described!r:.80}")
    parts = [_parameter_array(archive, f"{name}/{part}") for part in PARTS]
    structure = parts[1:]
    if any(array.ndim != 1 for array in parts) or any(array.dtype.kind != "i" for array in structure):
        raise ValueError(f"the arrays of the sparse matrix {name} are none of one")
    try:
        return check_sparse_structure(SPARSE[kind](tuple(parts), shape=tuple(shape)))
    except ValueError as error:
        raise ValueError(f"the sparse matrix {name} is damaged: {error}") from error


def _set_fitted(model, archive, encoded, mapped, verify):
    values = fitted_values(type(model))
    needed = {name for name, (_, may_lack) in values.items() if not may_lack}
    unlike = (needed - _object(encoded, "fitted").keys()) | (encoded.keys() - values.keys())
    if unlike:
        raise ValueError(f"fitted values are missing or unknown: {_some(unlike)}")
    found = {name: _decoded(value) for name, value in encoded.items()}
    for name, (dtype, *_) in declared_arrays(type(model)).items():
        if f"fitted/{name}" in archive.declared:
            found[name] = archive.array(f"fitted/{name}", np.dtype(dtype), mapped, verify or not mapped)
        elif name not in optional_arrays(type(model)):
            raise ValueError(f"the array fitted/{name} is missing")
    vars(model).update(attributes_of(type(model), found))


def _set_names(model, names):
    names = _object(names, "names")
    if not {"features"} <= names.keys() <= {"features", "topics"}:
        raise ValueError(f"its names are those of {_some(names)}; of features and topics are allowed")
    if "topics" in names:
        setattr(model, TOPIC_NAMES, check_pairs(names["topics"]))
    features = names["features"]
    if features is not None:
        setattr(model, NAMES, checked_feature_names(features, model.n_features_in_))


def _set_container(model, container):
    if container is None:
        return
    if container not in CONTAINERS:
        raise ValueError(f"its output is {container!r:.40}; {', '.join(CONTAINERS)} are allowed")
    model.set_output(transform=container)


def _checked(model):
    """The model, whose parameters and fitted state are valid and fit together."""
    try:
        model._check_settings()
    except TypeError as error:
        raise ValueError(f"a parameter is not valid: {error}") from error
    check_fitted_values(model)
    return model._checked()


def _decoded(value):
    """The value that _encoded has made this of."""
    if type(value) is list:
        return [_decoded(item) for item in value]
    if type(value) is not dict:
        return value
    if len(value) == 1:
        ((kind, content),) = value.items()
        if kind in DECODERS:
            return DECODERS[kind](content)
    raise ValueError(f"a value has the keys {_some(value)}; one of {', '.join(DECODERS)} is allowed")


def _decoded_tuple(content):
    if type(content) is not list:
        raise ValueError("a tuple is no list of items")
    return tuple(map(_decoded, content))


def _decoded_scalar(content):
    if type(content) is list and len(content) == 2 and type(content[0]) is str:
        name, value = content[0], _decoded(content[1])
        if name == "str" and type(value) is str:
            return np.str_(value)
        if name in DTYPES and type(value) in (bool, int, float):
            scalar = _cast(DTYPES[name], value)
            if scalar.item() == value:
                return scalar
    raise ValueError(
        f"a NumPy scalar is {content!r:.80}; a name of a dtype and a value that it has are allowed"
    )


def _cast(dtype, value):
    # NumPy before 2 would take integers modulo the range.
    if dtype.kind in "iu" and not np.iinfo(dtype).min <= value <= np.iinfo(dtype).max:
        raise ValueError(f"{value!r:.40} is no {dtype}")
    try:
        with np.errstate(over="ignore"):
            return dtype.type(value)
    except OverflowError as error:  # of integers that no float comes near
        raise ValueError(f"{value!r:.40} is no {dtype}") from error


def _decoded_random_state(content):
    if type(content) is list and len(content) == 4 and type(content[0]) is list:
        key, position, has_gauss, gauss = content
        words = len(key) == KEY_SIZE and all(type(word) is int and 0 <= word < 2**32 for word in key)
        if (
            words
            and type(position) is int
            and 0 <= position <= KEY_SIZE
            and type(has_gauss) is int
            and has_gauss in (0, 1)
            and type(gauss) is float
        ):
            random_state = np.random.RandomState()
            random_state.set_state(("MT19937", np.array(key, dtype=np.uint32), position, has_gauss, gauss))
            return random_state
    raise ValueError("the state of a RandomState is damaged")


DECODERS = {
    "tuple": _decoded_tuple,
    "numpy": _decoded_scalar,
    "random_state": _decoded_random_state,
}


def _object(value, name):
    if type(value) is not dict:
        raise ValueError(f"its {name} are no JSON object")
    return value


def _some(names):
    """The first few of some names."""
    return ", ".join(f"{name!r:.40}" for name in sorted(names)[:5])
