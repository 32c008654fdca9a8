"""Files shared by client and workers: arrays and models, in a local folder or at an fsspec address."""

import atexit
import io
import os
import posixpath
import secrets
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, BinaryIO
from uuid import uuid4

import numpy as np

from sktopic._runtime._array_archive import DAMAGED, ArrayArchive, write_archive
from sktopic._runtime._files import open_regular, real_path, write_file
from sktopic._runtime._optional import import_dask, import_fsspec
from sktopic.dask._cluster import Cluster, Here

# Far above any sum of document or token numbers.
TOO_LARGE = 1e100
# Relative rounding errors of statistics, some of which are differences.
ROUNDING = 1e-9
# Folders of served models. They exist until this process ends, because lazy arrays read them later.
_served: dict[str, "Folder"] = {}


class Folder:
    """A folder in which each file is complete or absent.

    It is pickled as its address. All processes that can access the address share the files.

    Parameters
    ----------
    address : str or path-like
        A path, or an fsspec address with "://".
    """

    def __init__(self, address: str | os.PathLike[str]) -> None:
        address = os.fspath(address)
        self.is_local = "://" not in address
        self.address = os.path.abspath(address) if self.is_local else address.rstrip("/")

    def __repr__(self):
        return f"Folder({self.address!r})"

    @property
    def _system(self):
        """The fsspec file system, and the path in it."""
        if self.is_local:  # the real path, because versions of fsspec list links differently
            return import_fsspec().filesystem("file"), real_path(self.address)
        return import_fsspec().url_to_fs(self.address)

    def create(self, exist_ok: bool = True) -> None:
        """Create the folder and its parents."""
        system, path = self._system
        system.makedirs(path, exist_ok=exist_ok)

    def remove(self) -> None:
        """Remove a folder that this process has created, with its files; a missing folder is no error.

        Subfolders, which only others can have created, are kept.
        """
        system, path = self._system
        for name in self._all_names():
            with suppress(OSError):
                self.delete(name)
        with suppress(OSError):
            system.rmdir(path)

    def names(self) -> list[str]:
        """Return the names of complete files."""
        return sorted(name for name in self._all_names() if not name.endswith(".incomplete"))

    def _all_names(self):
        system, path = self._system
        system.invalidate_cache()
        try:
            return [posixpath.basename(name) for name in system.ls(path, detail=False)]
        except FileNotFoundError:  # raised by object stores if there is no file
            return []

    def write(self, name: str, write: Callable[[BinaryIO], object]) -> None:
        """Write a file by a function of a binary file; replace a file of the same name."""
        if self.is_local:
            write_file(os.path.join(self.address, name), write, follow=False)
            return
        system, path = self._system
        incomplete = f"{path}/.{secrets.token_hex(8)}.incomplete"
        content = io.BytesIO()
        write(content)
        system.pipe_file(incomplete, content.getvalue())
        system.mv(incomplete, f"{path}/{name}")

    @contextmanager
    def open(self, name: str) -> Iterator[BinaryIO]:
        """Open a file for reading."""
        if self.is_local:
            with open_regular(os.path.join(self.address, name)) as file:
                yield file
        else:
            system, path = self._system
            yield io.BytesIO(system.cat_file(f"{path}/{name}"))

    def delete(self, name: str) -> None:
        """Delete a file; a missing file is no error."""
        system, path = self._system
        with suppress(FileNotFoundError):
            system.rm_file(f"{path}/{name}")

    def write_arrays(self, name: str, header: dict[str, Any], arrays: dict[str, Any]) -> None:
        """Write a file of arrays (see `_array_archive`)."""
        self.write(name, lambda file: write_archive(file, header, arrays))

    @contextmanager
    def open_arrays(self, name: str) -> Iterator[ArrayArchive]:
        """Open a file of arrays; ValueError names a damaged file, OSError a missing one."""
        try:
            with self.open(name) as file:
                yield ArrayArchive(file)
        except DAMAGED as error:
            reason = str(error).rstrip(".")
            raise ValueError(
                f"{name} in {self.address} is damaged: {reason:.800}. Delete the files "
                f"{name[:14]}* to continue from the previous checkpoint, or all files of the "
                "folder to start again."
            ) from error
        except FileNotFoundError as error:
            raise FileNotFoundError(f"{self.address} has no file {name}") from error


def write_rows(folder: Folder, name: str, rows: np.ndarray) -> None:
    """Write the rows of some words to a file."""
    folder.write_arrays(name, {}, {"rows": rows})


def read_rows(folder: Folder, name: str, shape: tuple[int, int]) -> np.ndarray:
    """Read the rows of some words from a file; ValueError for rows of another shape."""
    with folder.open_arrays(name) as archive:
        if archive.declared.keys() != {"rows"} or archive.header:
            names = sorted(archive.declared.keys() ^ {"rows"} | archive.header.keys())
            raise ValueError(f"it has missing or unexpected entries: {names[:5]!r:.200}")
        rows = archive.array("rows", np.dtype(np.float64))
        if rows.shape != shape:
            raise ValueError(f"it has rows of shape {rows.shape}, but must have {shape}")
        largest = rows.max(initial=0.0)
        if not (largest <= TOO_LARGE and rows.min(initial=0.0) >= -ROUNDING * largest):  # also for NaN
            raise ValueError("it has negative, too large or non-finite numbers")
        return rows


@contextmanager
def shared_folder(tasks: Here | Cluster, checkpoint: Any, scratch: Any) -> Iterator[Folder | None]:
    """Yield the folder of checkpoints, a temporary folder for this call, or None if none is needed."""
    if checkpoint is not None:
        folder = Folder(checkpoint)
        folder.create()
        check_visible(tasks, folder)
        yield folder
    elif tasks.client is None:
        yield None
    else:
        folder = _new_folder(_scratch_address(scratch), "sktopic")
        try:
            check_visible(tasks, folder)
            yield folder
        finally:
            tasks.close()  # before the files that tasks read are removed
            folder.remove()


def served_folder(scratch: Any) -> Folder:
    """Return the folder for models that tasks read. It is removed when this process ends."""
    address = _scratch_address(scratch)
    folder = _served.get(address)
    if folder is None or (folder.is_local and not os.path.isdir(folder.address)):  # was cleaned up
        folder = _served[address] = _new_folder(address, "sktopic-models")
        atexit.register(folder.remove)
    return folder


def _scratch_address(scratch):
    if scratch is None:
        scratch = import_dask().config.get("temporary-directory") or tempfile.gettempdir()
    return Folder(scratch).address


def _new_folder(address, prefix):
    """Create and return a new folder within one."""
    folder = Folder(f"{address}/{prefix}-{uuid4().hex}")
    folder.create(exist_ok=False)
    return folder


def check_visible(tasks: Here | Cluster, folder: Folder) -> None:
    """Raise ValueError unless all workers see the files that this process writes into a folder."""
    if tasks.client is None:
        return
    name = f"probe-{uuid4().hex}"
    folder.write(name, lambda file: file.write(b"seen"))
    try:
        # A worker that dies meanwhile is ignored: after its restart, it sees the same files.
        found = tasks.client.run(_sees, folder, name, on_error="ignore")
    finally:
        folder.delete(name)
    blind = sorted(address for address, sees in found.items() if not sees)
    if blind:
        raise ValueError(
            f"{len(blind)} of {len(found)} workers, such as {blind[0]}, do not see the folder "
            f"{folder.address}. Set checkpoint or scratch to a folder that all workers and this "
            "process see, or to an fsspec address."
        )


def _sees(folder, name):
    try:
        return name in folder.names()
    except OSError:
        return False
