"""Writing files that are complete or not there."""

import errno
import os
import secrets
import shutil
import sys
from contextlib import suppress

from sktopic._interrupt import uninterrupted

# Of Linux: "relative to the folder of the process", and a flag of renameat2.
AT_FDCWD, RENAME_EXCHANGE = -100, 2


def write_file(path, write):
    """Write a file that takes the place of an earlier one when it is complete and on the disk, or not at all.

    Until then it has another name in the same folder. An error or Ctrl-C leaves nothing of it.

    Parameters
    ----------
    path : str or path-like
        One that is there must be a regular file; it passes on its permissions. Of a symbolic link, the file
        that it leads to is replaced.
    write : function of a binary file, open for writing, that writes the content

    Raises
    ------
    OSError
        If the file cannot be written.
    """
    path = os.path.realpath(os.fsdecode(path))
    folder = os.path.dirname(path)
    if not os.path.isdir(folder):
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), folder)
    if os.path.isdir(path):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
    replaces = os.path.exists(path)
    if replaces and not os.path.isfile(path):  # a device, say
        raise OSError(f"{path} is not a regular file")
    incomplete = os.path.join(folder, f".{secrets.token_hex(8)}.incomplete")
    try:
        with open(incomplete, "xb") as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
        if replaces:
            shutil.copymode(path, incomplete)
        os.replace(incomplete, path)
    except BaseException:
        with uninterrupted(), suppress(FileNotFoundError):
            os.unlink(incomplete)
        raise
    sync_folder(folder)


def sync_folder(folder):
    """Let the new names of files in a folder outlast a power cut."""
    if os.name == "nt":  # where folders cannot be opened
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # of file systems that do it by themselves
            raise
    finally:
        os.close(descriptor)


def exchange(one, other):
    """Exchange the names of two files or folders at once; False where that cannot be done.

    Raises OSError as renaming does.
    """
    if sys.platform != "linux":
        return False
    import ctypes

    rename = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if rename is None:
        return False
    if rename(AT_FDCWD, os.fsencode(one), AT_FDCWD, os.fsencode(other), RENAME_EXCHANGE) == 0:
        return True
    error = ctypes.get_errno()
    if error in (errno.ENOSYS, errno.EINVAL):  # of the kernel, or of the file system
        return False
    raise OSError(error, os.strerror(error), one)
