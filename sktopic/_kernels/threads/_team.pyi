"""Threads that share the work of a kernel."""

from collections.abc import Callable
from typing import Any, Self, TypeVar

from typing_extensions import disjoint_base

_T = TypeVar("_T")

@disjoint_base
class Team:
    def __new__(cls, n_helpers: int = 0) -> Self: ...
    def close(self) -> None: ...
    @property
    def size(self) -> int: ...
    def map(self, function: Callable[..., _T], pieces: list[tuple[Any, ...]]) -> list[_T]: ...

def _begin(address: int, i: int) -> None: ...
