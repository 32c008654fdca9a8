"""Writing files that are complete or not there."""

import errno
import os
import secrets
import stat
from contextlib import suppress

from sktopic._runtime._interrupt import uninterrupted

# Links that lead to each other, after which a path is refused, as Linux does.
MOST_LINKS = 40
SEPARATORS = os.sep + (os.altsep or "")


def write_file(path, write, follow=True):
    """Write a file that takes the place of an earlier one when it is complete and on the disk, or not at all.

    Until then it has another name in the same folder. An error or Ctrl-C leaves nothing of it.

    Parameters
    ----------
    path : str or path-like
        An earlier file must be a regular file. Its permissions pass to the new file, which is never open to
        more users while it is written.
    write : function of a binary file, open for writing, that writes the content
    follow : bool
        Whether the file that a symbolic link leads to is replaced (see `real_path`). False replaces the link
        itself: for names that the user has not chosen, where only somebody else can have put a link.

    Raises
    ------
    OSError
        If the file cannot be written.
    """
    path = real_path(path) if follow else os.path.abspath(path)
    folder = os.path.dirname(path)
    if not os.path.isdir(folder):
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), folder)
    earlier = os.lstat(path).st_mode if os.path.lexists(path) else 0
    if stat.S_ISDIR(earlier):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
    if earlier and not (stat.S_ISREG(earlier) or stat.S_ISLNK(earlier)):  # a device, say
        raise OSError(f"{path} is not a regular file")
    # Until it has the group of the earlier file, no group may read it.
    mode = earlier & 0o707 if stat.S_ISREG(earlier) else 0o666
    incomplete = os.path.join(folder, f".{secrets.token_hex(8)}.incomplete")
    try:
        with open(incomplete, "xb", opener=lambda path, flags: os.open(path, flags, mode)) as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
        if stat.S_ISREG(earlier):
            pass_on(incomplete, stat.S_IMODE(earlier), os.lstat(path).st_gid)
        os.replace(incomplete, path)
    except BaseException:
        with uninterrupted(), suppress(FileNotFoundError):
            os.unlink(incomplete)
        raise
    sync_folder(folder)


def pass_on(path, mode, gid):
    """Give a file or folder the permissions and the group of the one that it replaces.

    If the group cannot be given, no group has permissions: it would be another one.
    """
    if hasattr(os, "chown") and os.lstat(path).st_gid != gid:
        try:
            os.chown(path, -1, gid)
        except OSError:
            mode &= ~0o070
    os.chmod(path, mode)


def real_path(path):
    """The absolute path of what is written, without symbolic links.

    At the end of a path, links of this user and of the administrator are followed. A link of another user
    could lead to any file that this user may write: it is a PermissionError.
    """
    if not isinstance(path, (str, bytes, os.PathLike)):
        raise TypeError(f"path is a {type(path).__name__}; the path of a file or folder is allowed.")
    path = os.fsdecode(path)
    if not path:
        raise ValueError("path is empty; the path of a file or folder is allowed.")
    path = path.rstrip(SEPARATORS) or path
    for _ in range(MOST_LINKS):
        if not os.path.islink(path):
            folder, name = os.path.split(path)
            return os.path.normpath(os.path.join(os.path.realpath(folder), name))
        target = os.path.join(os.path.dirname(path), os.readlink(path))
        status = os.lstat(path)
        if not is_own(status) and status.st_uid != 0:
            raise PermissionError(
                f"{path} is a symbolic link of another user, which is not followed. If you trust it, give "
                f"the path that it leads to: {target}"
            )
        path = target.rstrip(SEPARATORS) or target
    raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), path)


def is_own(status):
    """Whether a file or folder of this status belongs to the user of this process."""
    return not hasattr(os, "geteuid") or status.st_uid == os.geteuid()


def open_regular(path, mode="rb"):
    """Open a file whose name the user has not chosen.

    OSError for a link, which could lead anywhere, and for a pipe, for which `open` would wait.
    """
    if not stat.S_ISREG(os.lstat(path).st_mode):
        raise OSError(f"{path} is not a regular file")
    kept = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)  # if it has just been replaced
    return open(path, mode, opener=lambda path, flags: os.open(path, flags | kept))


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
