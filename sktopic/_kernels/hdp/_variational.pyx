"""The document step of mean-field inference for the hierarchical Dirichlet process.

A document has T *atoms*, whose shares pi come from a truncated stick-breaking process; atom t stands for
topic k with probability varphi_tk, and the tokens of word w belong to atom t with probability zeta_wt. Given
the corpus (E[log beta_kw] of the words and E[log sigma_k] of the topics' weights), the updates of Wang,
Paisley and Blei (2011), with c_w the count of word w, are

- varphi_tk proportional to exp(E[log sigma_k] + sum_w c_w zeta_wt E[log beta_kw]);
- a_t = 1 + sum_w c_w zeta_wt and b_t = alpha + sum_w c_w sum_{s > t} zeta_ws;
- zeta_wt proportional to exp(E[log pi_t] + sum_k varphi_tk E[log beta_kw]).

Each is the maximum of the document's bound given the others.
"""

import numpy as np

from libc.math cimport fabs, lgamma, log
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memset

from sktopic._kernels.numbers._special cimport digamma
from sktopic._kernels.numbers._vector cimport BLOCK_WORK, dot, fill_exp_digamma, weigh_cells
from sktopic._kernels.threads._interrupt cimport count_work


cdef extern from "hdp/_variational.h" nogil:
    void fill_log_row(
        const double* x, double weight, double offset, const double* norm, Py_ssize_t n,
        double* log_row, float* row)
    void add_log_rows(
        Py_ssize_t n_words, const int32_t* word, const double* factor, const double* rows, Py_ssize_t n,
        double* sums)
    void dot_log_rows(
        Py_ssize_t n_words, const int32_t* word, const double* rows, Py_ssize_t n, const double* p,
        Py_ssize_t stride, double* out)
    void fill_softmax(
        Py_ssize_t n_rows, Py_ssize_t n, const double* base, const double* logits, double* p,
        double* log_norm)
    void add_twice(double factor, const double* x, Py_ssize_t n, double* y, double* z)


# What probabilities too small to matter may change in a logarithm.
cdef double NEGLIGIBLE = 1e-12


def gather_log_topics(
    const double[:, ::1] store,
    const int32_t[::1] words,
    double weight,
    double offset,
    const double[::1] norm,
    double[:, ::1] log_rows,
    float[:, ::1] rows,
):
    """E[log beta] of some words under Dirichlet posteriors of parameters weight * store + offset.

    Parameters
    ----------
    store : (n_features, n_topics)                                                                IN
    words : (n_words,) rows of the store                                                          IN
    norm : (n_topics,) psi of the sum of each topic's parameters                                  IN
    log_rows : (n_words, n_topics) psi(weight * store[words] + offset) - norm                     OUT
    rows : the same, exponentials of the difference to a row's largest, at least e^-80            OUT
    """
    cdef Py_ssize_t i, n_topics = store.shape[1], done = 0
    with nogil:
        for i in range(words.shape[0]):
            fill_log_row(
                &store[words[i], 0], weight, offset, &norm[0], n_topics, &log_rows[i, 0], &rows[i, 0]
            )
            count_work(&done, 16 * n_topics)


cdef Py_ssize_t choose_topics(
    const double* gamma, Py_ssize_t n, Py_ssize_t n_wanted, int32_t* topic
) noexcept nogil:
    """The topics of the largest gamma, in descending order (the lower number where they are equal)."""
    cdef Py_ssize_t n_chosen = 0, k, j
    for k in range(n):
        if n_chosen == n_wanted and gamma[k] <= gamma[topic[n_chosen - 1]]:
            continue
        j = n_chosen if n_chosen < n_wanted else n_wanted - 1
        while j > 0 and gamma[k] > gamma[topic[j - 1]]:
            topic[j] = topic[j - 1]
            j -= 1
        topic[j] = <int32_t>k
        n_chosen = min(n_chosen + 1, n_wanted)
    return n_chosen


cdef void share_cells(
    Py_ssize_t n_cells,
    const int32_t* word,
    const float* rows,
    Py_ssize_t n_topics,
    const float* e,
    const int32_t* topic,
    Py_ssize_t n_chosen,
    Py_ssize_t n_atoms,
    double* zeta,
) noexcept nogil:
    """zeta of atoms that stand for one topic each; those beyond n_chosen get nothing."""
    cdef Py_ssize_t i, t
    cdef double total
    for i in range(n_cells):
        total = 0.0
        for t in range(n_atoms):
            zeta[i * n_atoms + t] = 0.0
        for t in range(n_chosen):
            zeta[i * n_atoms + t] = <double>e[topic[t]] * rows[word[i] * n_topics + topic[t]] + 1e-300
            total += zeta[i * n_atoms + t]
        for t in range(n_chosen):
            zeta[i * n_atoms + t] /= total


def start_documents(
    const int64_t[::1] indptr,
    const int32_t[::1] cell_word,
    const double[::1] cell_count,
    const float[:, ::1] rows,
    const double[::1] prior,
    Py_ssize_t n_atoms,
    int n_iter,
):
    """Where to start from: atoms that stand for the topics most present in each document.

    These are found by iterating mean-field inference for LDA (see _variational) with the prior, from equal
    shares of all topics.

    Parameters
    ----------
    indptr : (n_documents + 1,) bounds of each document's cells                                   IN
    cell_word, cell_count : (n_cells,) word (row of rows) and count                               IN
    rows : (n_words, n_topics) exp E[log beta] up to a factor for each word                       IN
    prior : (n_topics,) Dirichlet parameters                                                      IN

    Returns
    -------
    zeta (n_cells, n_atoms) float64 : share of each atom in each cell.
    """
    cdef Py_ssize_t n_documents = indptr.shape[0] - 1, n_topics = rows.shape[1]
    cdef Py_ssize_t d, k, first, n_cells, n_chosen, done = 0
    cdef int64_t base = indptr[0]
    cdef double length
    cdef int _iteration
    zeta_array = np.zeros((cell_word.shape[0], n_atoms))
    cdef double[:, ::1] zeta = zeta_array, scratch = np.empty((3, n_topics))
    cdef double[::1] share = np.empty(cell_word.shape[0])
    cdef float[:, ::1] e = np.empty((2, n_topics), dtype=np.float32)
    cdef int32_t[::1] topic = np.empty(n_atoms, dtype=np.int32)
    cdef double* gamma = &scratch[0, 0]
    with nogil:
        for d in range(n_documents):
            first = indptr[d] - base
            n_cells = indptr[d + 1] - indptr[d]
            if n_cells == 0:
                continue
            length = 0.0
            for k in range(first, first + n_cells):
                length += cell_count[k]
            for k in range(n_topics):
                gamma[k] = prior[k] + length / n_topics
            for _iteration in range(n_iter + 1):
                fill_exp_digamma(gamma, n_topics, &scratch[1, 0], &scratch[2, 0])
                count_work(&done, 8 * n_topics)
                for k in range(n_topics):
                    e[0, k] = <float>scratch[2, k]
                if _iteration == n_iter:
                    break
                weigh_cells(
                    n_cells, &cell_word[first], &cell_count[first], &rows[0, 0], n_topics,
                    &e[0, 0], &e[1, 0], &share[first], &done,
                )
                for k in range(n_topics):
                    gamma[k] = prior[k] + <double>e[0, k] * e[1, k]
            n_chosen = choose_topics(gamma, n_topics, n_atoms, &topic[0])
            share_cells(
                n_cells, &cell_word[first], &rows[0, 0], n_topics, &e[0, 0], &topic[0], n_chosen, n_atoms,
                &zeta[first, 0],
            )
            count_work(&done, 4 * n_cells * n_atoms + n_topics * n_atoms)
    return zeta_array


cdef struct Document:
    Py_ssize_t n_cells
    Py_ssize_t n_topics
    Py_ssize_t n_atoms
    const int32_t* word
    const double* count
    const double* log_rows
    double* zeta            # (n_cells, n_atoms)
    double* varphi          # (n_atoms, n_topics)
    double* a               # (n_atoms,)
    double* b
    double negligible       # probabilities below it are passed over
    Py_ssize_t work         # see count_work


cdef struct Scratch:
    double* log_pi          # (n_atoms,) E[log pi]
    double* expected_log    # (n_atoms, n_topics) sum_w c_w zeta_wt E[log beta_kw]
    double* log_norm        # (n_atoms,)
    double* logits          # (n_cells, n_atoms)
    double* cell_norm       # (n_cells,)
    int32_t* index          # (n_cells or n_topics,)
    double* factor          # (n_cells,)
    double* mass            # (n_atoms,)


cdef void sort_atoms(Document* doc, Scratch* at) noexcept nogil:
    """Put the atoms in descending order of their tokens, which of all orders has the highest bound."""
    cdef Py_ssize_t T = doc.n_atoms, t, j, i
    cdef int32_t moved
    cdef bint sorted_before = True
    for t in range(T):
        at.mass[t] = 0.0
    for i in range(doc.n_cells):
        for t in range(T):
            at.mass[t] += doc.count[i] * doc.zeta[i * T + t]
    for t in range(T):
        j = t
        while j > 0 and at.mass[t] > at.mass[at.index[j - 1]]:
            at.index[j] = at.index[j - 1]
            j -= 1
            sorted_before = False
        at.index[j] = <int32_t>t
    if sorted_before:
        return
    for i in range(doc.n_cells):
        for t in range(T):
            moved = at.index[t]
            at.factor[t] = doc.zeta[i * T + moved]
        for t in range(T):
            doc.zeta[i * T + t] = at.factor[t]
    for t in range(T):
        at.factor[t] = at.mass[at.index[t]]
    for t in range(T):
        at.mass[t] = at.factor[t]


cdef double update_topics(Document* doc, Scratch* at, const double* log_weights) except? -1.0 nogil:
    """varphi, and its part of the bound."""
    cdef Py_ssize_t T = doc.n_atoms, K = doc.n_topics, t, i, n, first
    cdef Py_ssize_t size = 4 * (BLOCK_WORK // (4 * K) + 1)  # cells at a time: they are taken four by four
    cdef double bound = 0.0, z
    for t in range(T):
        n = 0
        for i in range(doc.n_cells):
            z = doc.zeta[i * T + t]
            if z > doc.negligible:
                at.index[n] = doc.word[i]
                at.factor[n] = doc.count[i] * z
                n += 1
        memset(&at.expected_log[t * K], 0, K * sizeof(double))
        first = 0
        while first < n:
            i = min(size, n - first)
            add_log_rows(i, at.index + first, at.factor + first, doc.log_rows, K, &at.expected_log[t * K])
            count_work(&doc.work, i * K)
            first += i
        count_work(&doc.work, doc.n_cells + 16 * K)
    fill_softmax(T, K, log_weights, at.expected_log, doc.varphi, at.log_norm)
    # log varphi = log_weights + expected_log - log_norm
    for t in range(T):
        bound += at.log_norm[t] - dot(&doc.varphi[t * K], &at.expected_log[t * K], K)
    return bound


cdef double update_sticks(Document* doc, Scratch* at, double concentration) noexcept nogil:
    """a and b, and E[log pi], from the tokens of the atoms; and their part of the bound."""
    cdef Py_ssize_t t
    cdef double bound = 0.0, left = 0.0, rest = 0.0, log_taken, log_left, a, b
    for t in range(doc.n_atoms - 1, -1, -1):
        doc.a[t] = 1.0 + at.mass[t]
        doc.b[t] = concentration + left
        left += at.mass[t]
    doc.a[doc.n_atoms - 1], doc.b[doc.n_atoms - 1] = 1.0, 0.0  # what is left goes to the last atom
    for t in range(doc.n_atoms - 1):
        a, b = doc.a[t], doc.b[t]
        log_taken = digamma(a) - digamma(a + b)
        log_left = digamma(b) - digamma(a + b)
        at.log_pi[t] = rest + log_taken
        rest += log_left
        bound += log(concentration) + (concentration - b) * log_left - (a - 1.0) * log_taken
        bound += lgamma(a) + lgamma(b) - lgamma(a + b)
    at.log_pi[doc.n_atoms - 1] = rest
    return bound


cdef double update_shares(Document* doc, Scratch* at) except? -1.0 nogil:
    """zeta, and its part of the bound together with the words'."""
    cdef Py_ssize_t T = doc.n_atoms, K = doc.n_topics, t, k, i, j, n, first
    cdef Py_ssize_t size = 4 * (BLOCK_WORK // (4 * K) + 1)
    cdef double bound = 0.0, s
    cdef const double* p
    cdef const double* row
    for t in range(T):
        p = &doc.varphi[t * K]
        n = 0
        for k in range(K):
            if p[k] > doc.negligible:
                at.index[n] = <int32_t>k
                n += 1
        if 8 * n > K:
            first = 0
            while first < doc.n_cells:
                i = min(size, doc.n_cells - first)
                dot_log_rows(i, doc.word + first, doc.log_rows, K, p, T, &at.logits[first * T + t])
                count_work(&doc.work, i * K)
                first += i
            continue
        for i in range(doc.n_cells):
            row = &doc.log_rows[doc.word[i] * K]
            s = 0.0
            for j in range(n):
                s += p[at.index[j]] * row[at.index[j]]
            at.logits[i * T + t] = s
        count_work(&doc.work, doc.n_cells * n + K)
    count_work(&doc.work, 16 * doc.n_cells * T)
    fill_softmax(doc.n_cells, T, at.log_pi, at.logits, doc.zeta, at.cell_norm)
    for i in range(doc.n_cells):
        bound += doc.count[i] * at.cell_norm[i]
    return bound


cdef void fill_proportions(Document* doc, double* theta) noexcept nogil:
    """E[theta_k] = sum_t E[pi_t] varphi_tk."""
    cdef Py_ssize_t t, k
    cdef double left = 1.0, share
    for t in range(doc.n_atoms):
        share = left * doc.a[t] / (doc.a[t] + doc.b[t])
        left -= share
        for k in range(doc.n_topics):
            theta[k] += share * doc.varphi[t * doc.n_topics + k]


def update_documents(
    const int64_t[::1] indptr,
    const int32_t[::1] cell_word,
    const double[::1] cell_count,
    const double[:, ::1] log_rows,
    const double[::1] log_weights,
    double lowest,
    double concentration,
    double[:, ::1] zeta,
    int max_iter,
    double tol,
):
    """Coordinate ascent on each document's bound.

    It ends when the bound gains less than tol times itself, or after max_iter iterations. Before each, the
    atoms are put in descending order of their tokens.

    Parameters
    ----------
    indptr, cell_word, cell_count : as in start_documents                                         IN
    log_rows : (n_words, n_topics) E[log beta] of each word                                       IN
    log_weights : (n_topics,) E[log sigma] of the topics                                          IN
    lowest : a lower bound of the log_rows                                                        IN
    concentration : alpha of the documents' sticks                                                IN
    zeta : (n_cells, n_atoms) share of each atom in each cell                                     IN/OUT

    Returns
    -------
    varphi (n_documents, n_atoms, n_topics) : probabilities of the topic of each atom;
    sticks (n_documents, 2, n_atoms) : a and b; those of the last atom are 1 and 0;
    theta (n_documents, n_topics) : expected proportions;
    bound (n_documents,), n_iter (n_documents,) int32.
    A document without cells has zeros everywhere: it has no variables of its own.
    """
    cdef Py_ssize_t n_documents = indptr.shape[0] - 1, n_topics = log_rows.shape[1], n_atoms = zeta.shape[1]
    cdef Py_ssize_t d, first, longest = 1
    cdef int64_t base = indptr[0]
    cdef double before
    cdef int iteration
    cdef Document doc
    cdef Scratch at
    varphi_array = np.zeros((n_documents, n_atoms, n_topics))
    sticks_array = np.zeros((n_documents, 2, n_atoms))
    theta_array = np.zeros((n_documents, n_topics))
    bound_array = np.zeros(n_documents)
    n_iter_array = np.zeros(n_documents, dtype=np.int32)
    cdef double[:, :, ::1] varphi = varphi_array, sticks = sticks_array
    cdef double[:, ::1] theta = theta_array
    cdef double[::1] bound = bound_array
    cdef int32_t[::1] n_iter = n_iter_array
    for d in range(n_documents):
        longest = max(longest, indptr[d + 1] - indptr[d])
    cdef double[:, ::1] by_atom = np.empty((3, n_atoms)), expected_log = np.empty((n_atoms, n_topics))
    cdef double[:, ::1] logits = np.empty((longest, n_atoms))
    cdef double[:, ::1] by_cell = np.empty((2, max(longest, n_atoms)))
    cdef int32_t[::1] index = np.empty(max(longest, n_topics, n_atoms), dtype=np.int32)
    at.log_pi, at.log_norm, at.mass = &by_atom[0, 0], &by_atom[1, 0], &by_atom[2, 0]
    at.expected_log, at.logits, at.index = &expected_log[0, 0], &logits[0, 0], &index[0]
    at.cell_norm, at.factor = &by_cell[0, 0], &by_cell[1, 0]
    doc.n_topics, doc.n_atoms = n_topics, n_atoms
    doc.work = 0
    doc.log_rows = &log_rows[0, 0] if log_rows.shape[0] else NULL
    doc.negligible = NEGLIGIBLE / (1.0 + fabs(lowest))
    with nogil:
        for d in range(n_documents):
            first = indptr[d] - base
            doc.n_cells = indptr[d + 1] - indptr[d]
            if doc.n_cells == 0:
                continue
            doc.word, doc.count, doc.zeta = &cell_word[first], &cell_count[first], &zeta[first, 0]
            doc.varphi, doc.a, doc.b = &varphi[d, 0, 0], &sticks[d, 0, 0], &sticks[d, 1, 0]
            for iteration in range(max_iter):
                before = bound[d]
                sort_atoms(&doc, &at)
                bound[d] = update_topics(&doc, &at, &log_weights[0])
                bound[d] += update_sticks(&doc, &at, concentration)
                bound[d] += update_shares(&doc, &at)
                n_iter[d] = iteration + 1
                if iteration > 0 and bound[d] - before < tol * fabs(before):
                    break
            fill_proportions(&doc, &theta[d, 0])
    return varphi_array, sticks_array, theta_array, bound_array, n_iter_array


def add_atom_counts(
    Py_ssize_t first_part,
    Py_ssize_t last_part,
    words,
    const int32_t[::1] cell_document,
    const double[:, ::1] zeta,
    const double[:, :, ::1] varphi,
    double factor,
    target,
):
    """Add factor times the expected counts: cell_weight[cell] * zeta[cell] @ varphi[document] of each cell.

    zeta and varphi are those of update_documents. words are WordCells whose cell_weight has an entry for
    every cell: its count, times the weight of its document. The target is a CountsTarget without averaged.
    """
    cdef const int64_t[::1] part_bounds = words.part_bounds
    cdef const int64_t[::1] word_indptr = words.word_indptr
    cdef const int64_t[::1] word_cell = words.word_cell
    cdef const double[::1] cell_weight = words.cell_weight
    cdef const int32_t[::1] target_row = words.target_row
    cdef double[:, ::1] store = target.store
    cdef double[:, ::1] totals = target.totals
    cdef Py_ssize_t n_topics = varphi.shape[2], n_atoms = zeta.shape[1], p, w, i, cell, t
    cdef Py_ssize_t done = 0
    with nogil:
        for p in range(first_part, last_part):
            for w in range(part_bounds[p], part_bounds[p + 1]):
                for i in range(word_indptr[w], word_indptr[w + 1]):
                    cell = word_cell[i]
                    for t in range(n_atoms):
                        if zeta[cell, t] > NEGLIGIBLE:
                            count_work(&done, 2 * n_topics)
                            add_twice(
                                factor * cell_weight[cell] * zeta[cell, t],
                                &varphi[cell_document[cell], t, 0], n_topics,
                                &store[target_row[w], 0], &totals[p, 0],
                            )
