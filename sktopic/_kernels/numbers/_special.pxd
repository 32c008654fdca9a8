"""Digamma, trigamma and their inverse for positive arguments, inline."""

from libc.math cimport exp, log


cdef inline double digamma(double x) noexcept nogil:
    """psi(x) for x > 0: recurrence up to 6, then the asymptotic series (error below 2e-13 max(1, |psi|))."""
    cdef double shift = 0.0, f
    while x < 6.0:
        shift -= 1.0 / x
        x += 1.0
    f = 1.0 / (x * x)
    return shift + log(x) - 0.5 / x - f * (
        1.0 / 12 - f * (1.0 / 120 - f * (1.0 / 252 - f * (
            1.0 / 240 - f * (1.0 / 132 - f * (691.0 / 32760 - f / 12))))))


cdef inline double trigamma(double x) noexcept nogil:
    """psi'(x) for x > 0, by the same recurrence and series."""
    cdef double shift = 0.0, f
    while x < 6.0:
        shift += 1.0 / (x * x)
        x += 1.0
    f = 1.0 / (x * x)
    return shift + 1.0 / x + 0.5 * f + f / x * (
        1.0 / 6 - f * (1.0 / 30 - f * (1.0 / 42 - f * (
            1.0 / 30 - f * (5.0 / 66 - f * (691.0 / 2730 - f * 7.0 / 6))))))


cdef inline double inverse_digamma(double y) noexcept nogil:
    """The x > 0 with psi(x) = y, by Newton from Minka's two-branch start (2000, appendix C)."""
    cdef double x
    cdef int _i
    x = exp(y) + 0.5 if y >= -2.22 else -1.0 / (y + 0.5772156649015329)
    for _i in range(5):
        x -= (digamma(x) - y) / trigamma(x)
    return x
