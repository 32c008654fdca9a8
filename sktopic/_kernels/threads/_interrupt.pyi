"""How kernels that run long are interrupted."""

class Stopped(Exception):
    """Raised in a thread whose team has been told to stop."""
