"""Lists of the topics of documents, as the samplers of a corpus keep them: records in NumPy arrays.

Document d owns the entries list_start[d] to list_start[d + 1] of an array, of which the first n_entries[d]
are in use, in no order. Their dtypes are in _topic_lists.pyx.
"""

from libc.stdint cimport int32_t


cdef struct TopicClumps:
    # A topic, and how many clumps of the document are in it.
    int32_t topic
    int32_t clumps


cdef struct TopicTables:
    # The same in a restaurant: clumps are customers, who sit at tables.
    int32_t topic
    int32_t clumps
    int32_t tables


ctypedef fused Entry:
    TopicClumps
    TopicTables


cdef inline int32_t find(const Entry* entries, int32_t n, int32_t topic) noexcept nogil:
    """The position of a topic in a list of n entries, or n."""
    cdef int32_t j = 0
    while j < n and entries[j].topic != topic:
        j += 1
    return j


cdef inline void open_entry(Entry* entries, int32_t* n, int32_t topic) noexcept nogil:
    """Add an entry without clumps at the end of a list."""
    entries[n[0]].topic = topic
    entries[n[0]].clumps = 0
    if Entry is TopicTables:
        entries[n[0]].tables = 0
    n[0] += 1
