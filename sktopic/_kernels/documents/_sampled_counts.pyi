"""Nothing for Python: what it has is cimported by other kernels."""
