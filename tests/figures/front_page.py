"""Figures in sentences of doc/index.rst, which begins as README.md does."""

from .readme import BELOW

PAGE = "doc/index.rst"
SENTENCES = BELOW
