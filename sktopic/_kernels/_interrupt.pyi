"""How kernels that run long are interrupted."""

from threading import Event

class Stopped(Exception):
    """Raised in a thread whose team has been told to stop."""

def stop_with(event: Event | None) -> None:
    """Let kernels that run in this thread raise Stopped once the event is set."""
