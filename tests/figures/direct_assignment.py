"""Figures in sentences of sktopic/hdp/_direct_assignment.py."""

from .tables import first, rows, span

PAGE = "sktopic/hdp/_direct_assignment.py"


def gained_by_means():
    """Over the geometric means, by the cells of hdp_models such as "-7.359 ± 0.002 (1 s)"."""
    means, geometric = (
        [float(first(cell)) for cell in list(row.values())[1:]]
        for name in ("DirectAssignmentHDP, means", "DirectAssignmentHDP")
        for row in rows("hdp_models", model=name)
    )
    return span([a - b for a, b in zip(means, geometric)])


SENTENCES = [
    ("scores on texts are higher, by {} to {} nats per word.", gained_by_means),
]
