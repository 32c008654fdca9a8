"""Figures in sentences of doc/guide/how_to.rst."""

from .lda_comparison import gained_by_passes

PAGE = "doc/guide/how_to.rst"


def lost_by_one_pass():
    return [f"{gained_by_passes('arxiv_0'):.2f}"]


SENTENCES = [
    ("On 98,000 abstracts, ``max_iter=1`` scores {} nats less than five passes.", lost_by_one_pass),
]
