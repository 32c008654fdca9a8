"""Fitted models in files: the header that describes a model, and the model read from it.

Classes declare their fitted values (see _fitted_state). Only these, parameters, names and the output
container are written and read, so a file cannot set other attributes. Arrays are ``fitted/NAME``,
``fitted/STATE.FIELD`` and ``parameters/NAME``. Parameters that JSON cannot represent are objects with one
key: "tuple", "numpy" (a scalar), "random_state", "array" or, with arrays ``parameters/NAME/PART``, "sparse".
"""

import hashlib
import os
import stat
from importlib import import_module

import numpy as np
import scipy.sparse as sp

import sktopic
from sktopic._documents._matrices import check_sparse_structure
from sktopic._estimators._fitted_state import (
    FITTED,
    check_values,
    declared_arrays,
    declared_values,
    fitted_of,
    kinds_of,
    optional_names,
    set_fitted,
)
from sktopic._estimators._topic_names import check_pairs
from sktopic._estimators._vocabulary import NAMES, checked_feature_names
from sktopic._runtime._array_archive import DAMAGED, ArrayArchive, write_archive
from sktopic._runtime._attributes import attributes_of
from sktopic._runtime._files import write_file

# The number increases if this version would misread files of earlier ones.
FORMAT = "sktopic model 1"
KEYS = {"format", "class", "version", "parameters", "fitted", "feature_names", "topic_names", "output"}
# Attribute that scikit-learn sets: the container of set_output.
OUTPUT = "_sklearn_output_config"
# Callbacks belong to the training process. Users set the names of topics.
CALLBACKS, TOPIC_NAMES = "_skl_callbacks", "_topic_names"
CONTAINERS = "default", "pandas", "polars"
# Allowed dtypes of arrays and NumPy scalars, in both byte orders, by name.
DTYPES = {
    dtype.str: dtype
    for code in ("b1", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8")
    for dtype in (np.dtype(code), np.dtype(code).newbyteorder())
}
# Formats of stored sparse matrices. Other formats become CSR.
SPARSE = {kind.__name__: kind for kind in (sp.csr_array, sp.csr_matrix, sp.csc_array, sp.csc_matrix)}
PARTS = "data", "indices", "indptr"
# The arrays of a parameter, by its key in the header.
ARRAYS_OF = {"array": ("",), "sparse": tuple(f"/{part}" for part in PARTS)}
# Number of words in the state of a RandomState.
KEY_SIZE = 624


def write_model(model, path):
    """Write a fitted model, which must not change meanwhile, to a file.

    Raises
    ------
    TypeError
        If the class, a parameter or an attribute cannot be stored.
    ValueError
        If parameters or fitted values could not be loaded.
    OSError
        If the file cannot be written.
    """
    model._check_settings()
    check_values(model)
    if getattr(model, NAMES, None) is not None:
        checked_feature_names(getattr(model, NAMES), model.n_features_in_)
    header, arrays = _described(model)
    write_file(path, lambda file: write_archive(file, header, arrays))


def read_model(path, classes, mapped=False, verify=True):
    """Return the model in a file, of one of the classes (dict by name).

    Raises
    ------
    ValueError
        If the file is not a model file, is damaged, or has another format.
    OSError
        If it cannot be read.
    """
    mode = os.stat(os.fspath(path)).st_mode
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):  # open would wait for a pipe
        raise ValueError(f"{path} cannot be loaded: it is not a regular file")
    with open(path, "rb") as file:
        try:
            return _model_of(ArrayArchive(file), classes, mapped, verify)
        except DAMAGED as error:
            raise ValueError(f"{path} cannot be loaded: {error!s:.800}") from error


# Writing


def _described(model):
    """Return the header and the arrays of a model."""
    cls, attributes = type(model), attributes_of(model)
    if import_module("sktopic._loading").CLASSES.get(cls.__name__) is not cls:  # `load` would not know it
        raise TypeError(f"{cls.__name__} is not a class of sktopic: only classes of sktopic can be stored")
    names = cls._get_param_names()
    unknown = attributes.keys() - FITTED - {*names, OUTPUT, CALLBACKS}
    if unknown:
        raise TypeError(
            f"the attribute {min(unknown)} of this {cls.__name__} cannot be stored: "
            "it is neither a parameter nor set by training"
        )
    parameters, arrays = {}, {}
    for name in names:
        try:  # for a deleted parameter, the class may have a value
            parameters[name], parts = _described_parameter(getattr(model, name))
        except TypeError as error:
            raise TypeError(f"the parameter {name} of {cls.__name__} cannot be stored: {error}") from None
        arrays |= {f"parameters/{name}{part}": array for part, array in parts.items()}
    values, of_training = described_fitted(fitted_of(model))
    features = attributes.get(NAMES)
    header = {
        "format": FORMAT,
        "class": cls.__name__,
        "version": sktopic.__version__,
        "parameters": parameters,
        "fitted": values,
        "feature_names": None if features is None else list(features),
        "topic_names": attributes.get(TOPIC_NAMES) or None,
        "output": attributes.get(OUTPUT, {}).get("transform"),
    }
    return header, arrays | of_training


def described_fitted(fitted):
    """Return values and arrays of `fitted_of`: values for the header entry "fitted", arrays by name."""
    arrays = {f"fitted/{name}": each for name, each in fitted.items() if isinstance(each, np.ndarray)}
    values = {name: _encoded(each) for name, each in fitted.items() if f"fitted/{name}" not in arrays}
    return values, arrays


def _described_parameter(value):
    """Return a parameter as JSON, and its arrays by the ends of their names."""
    if type(value) in (np.ndarray, np.memmap) and value.dtype.str in DTYPES:
        return {"array": None}, {"": value}
    if sp.issparse(value) and value.ndim == 2 and value.dtype.str in DTYPES:
        if type(value).__name__ not in SPARSE:
            value = (sp.csr_array if isinstance(value, sp.sparray) else sp.csr_matrix)(value)
        described = {"sparse": [type(value).__name__, list(value.shape)]}
        return described, {f"/{part}": getattr(value, part) for part in PARTS}
    return _encoded(value), {}


def _encoded(value):
    """Return a value as JSON."""
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
        return {"numpy": [value.dtype.str, value.item()]}
    if kind is np.random.RandomState:
        state = value.get_state(legacy=False)
        if state["bit_generator"] == "MT19937":
            key, position = state["state"]["key"].tolist(), state["state"]["pos"]
            return {"random_state": [key, position, state["has_gauss"], state["gauss"]]}
    raise TypeError(
        f"it is a {kind.__name__}; it must be None, a number, a string, a list or tuple of these, "
        "an array or sparse matrix of numbers, or a RandomState with MT19937 (the default)"
    )


# Reading


def _model_of(archive, classes, mapped, verify):
    header = archive.header
    if header.get("format") != FORMAT:
        raise ValueError(f"its format is {header.get('format')!r:.40}, but this version reads {FORMAT!r}")
    _check_names("its header", header, KEYS)
    name, parameters = header["class"], header["parameters"]
    if type(name) is not str or name not in classes:
        raise ValueError(f"its class {name!r:.80} is unknown; known classes are {', '.join(sorted(classes))}")
    cls = classes[name]
    names = {*cls._get_param_names()}
    # Files of earlier versions lack newer parameters, which take their defaults.
    _check_names(f"parameters of {name}", parameters, names, optional=names)
    others = {f"parameters/{name}{part}" for name in parameters for part in _parts(parameters[name])}
    kind = max(kinds_of(cls), key=lambda kind: len(archive.declared.keys() & _names_of_arrays(kind)))
    found = fitted_in(archive, kind, others, mapped=mapped, verify=verify)
    model = cls(**{name: _parameter(archive, name, value) for name, value in parameters.items()})
    set_fitted(model, found, kind)
    _set_names(model, header)
    try:
        model._check_settings()
    except TypeError as error:
        raise ValueError(f"a parameter is not valid: {error}") from error
    check_values(model)
    return model._checked()


def fitted_in(archive, kind, others=frozenset(), absent=frozenset(), **reading):
    """Read the fitted values of a class of states, described by `described_fitted`, from an archive.

    others : names of other arrays in the archive
    absent : fitted arrays that the archive lacks
    reading : how arrays are read
    """
    fitted, declared, optional = archive.header["fitted"], declared_arrays(kind), optional_names(kind)
    _check_names("fitted values", fitted, declared_values(kind).keys(), optional)
    wanted = others | _names_of_arrays(kind) - {f"fitted/{name}" for name in absent}
    _check_names("arrays", archive.declared, wanted, {f"fitted/{name}" for name in optional})
    found = {name: _decoded(value) for name, value in fitted.items()}
    for name, field in declared.items():
        if f"fitted/{name}" in archive.declared:
            found[name] = archive.array(f"fitted/{name}", field.dtype, **reading)
    return found


def _names_of_arrays(kind):
    """Return the names of the arrays of a class of states in an archive."""
    return {f"fitted/{name}" for name in declared_arrays(kind)}


def _check_names(what, found, wanted, optional=frozenset()):
    """Raise ValueError unless a dict has exactly the wanted names; optional names may be missing."""
    if type(found) is not dict:
        raise ValueError(f"{what} are not a JSON object")
    unlike = sorted((found.keys() ^ wanted) - (optional - found.keys()))
    if unlike:
        few = ", ".join(f"{name!r:.40}" for name in unlike[:5])
        raise ValueError(f"{what}: missing or unknown: {few}")


def _parts(encoded):
    """Return the ends of the names of a parameter's arrays."""
    return ARRAYS_OF.get(*encoded, ()) if type(encoded) is dict and len(encoded) == 1 else ()


def _parameter(archive, name, encoded):
    """Return a parameter. Arrays of sparse matrices are checked before scipy reads them."""
    arrays = []
    for part in _parts(encoded):
        stored = f"parameters/{name}{part}"
        dtype = archive.declared[stored].dtype
        if dtype not in DTYPES:
            raise ValueError(f"the array {stored} has dtype {dtype!r:.40}; only numbers are allowed")
        arrays.append(archive.array(stored, DTYPES[dtype]))
    match encoded:
        case _ if not arrays:
            return _decoded(encoded)
        case {"array": None}:
            return arrays[0]
        case {"sparse": [str(kind), [int(n_rows), int(n_columns)]]} if kind in SPARSE:
            shape, kinds = (n_rows, n_columns), "".join(array.dtype.kind for array in arrays[1:])
            if (
                kinds == "ii"
                and {array.ndim for array in arrays} == {1}
                and 0 <= min(shape) <= max(shape) < 2**31
            ):
                return check_sparse_structure(SPARSE[kind](tuple(arrays), shape=shape))
    raise ValueError(f"the parameter {name} is not an array or a sparse matrix: {encoded!r:.80}")


def _set_names(model, header):
    """Set the names of features and topics, and the container of results."""
    if header["topic_names"] is not None:
        setattr(model, TOPIC_NAMES, check_pairs(header["topic_names"]))
    if header["feature_names"] is not None:
        setattr(model, NAMES, checked_feature_names(header["feature_names"], model.n_features_in_))
    container = header["output"]
    if container is not None:
        if container not in CONTAINERS:
            raise ValueError(f"its output is {container!r:.40}; must be one of {', '.join(CONTAINERS)}")
        model.set_output(transform=container)


def _decoded(value):
    """Return the value that _encoded has encoded."""
    match value:
        case list():
            return [_decoded(item) for item in value]
        case dict() if len(value) != 1:
            pass
        case {"tuple": list(items)}:
            return tuple(map(_decoded, items))
        case {"numpy": ["str", str(text)]}:
            return np.str_(text)
        case {"numpy": [str(name), bool() | int() | float() as number]} if name in DTYPES:
            with np.errstate(all="ignore"):
                scalar = np.array(number).astype(DTYPES[name])[()]
            if scalar.item() == number:
                return scalar
        case {"random_state": [list(key), int(position), int(has_gauss), float(gauss)]}:
            # RandomState does not check them.
            words = len(key) == KEY_SIZE and all(type(word) is int and 0 <= word < 2**32 for word in key)
            if words and 0 <= position <= KEY_SIZE and 0 <= has_gauss <= 1:
                random_state = np.random.RandomState()
                random_state.set_state(("MT19937", np.array(key, np.uint32), position, has_gauss, gauss))
                return random_state
        case _ if type(value) is not dict:
            return value
    raise ValueError(f"{value!r:.80} is not a tuple, a NumPy scalar or a RandomState")


# Digests


def described(values):
    """Describe values (a dict) by name, as JSON or digests; unequal values get unequal descriptions."""
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
    """Return a digest that identifies a text."""
    return _digest(text.encode("utf-8", "surrogatepass"))


def _digest(content):
    return hashlib.blake2b(content, digest_size=16).hexdigest()
