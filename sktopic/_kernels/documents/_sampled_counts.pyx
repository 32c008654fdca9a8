"""Handing a growing array over to NumPy."""

import numpy as np

from libc.string cimport memcpy


cdef object to_array(Buffer* buffer, object dtype):
    """Copy the bytes used into a NumPy array."""
    array = np.empty(buffer.used, dtype=np.uint8)
    cdef unsigned char[::1] view = array
    if buffer.used:
        memcpy(&view[0], buffer.data, buffer.used)
    return array.view(dtype)
