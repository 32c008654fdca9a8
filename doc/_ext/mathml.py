"""Formulas as MathML, which browsers show by themselves: pages need no script and no network."""

import re

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.util import logging

logger = logging.getLogger(__name__)


def to_mathml(node, display):
    latex = node.astext()
    try:
        mathml = convert(latex, display=display)
    except Exception as error:  # its classes have no base of their own
        logger.warning("cannot be shown as MathML: %s (%r)", latex, error, location=node)
        return ""
    # Names of functions stand apart from what follows, unless that is a bracket.
    return re.sub(r"(<mi>\w{2,}</mi>)(?=<m[isu])", r'\1<mspace width="0.17em"/>', mathml)


def visit_inline(self, node):
    self.body.append(to_mathml(node, "inline"))
    raise nodes.SkipNode


def visit_block(self, node):
    self.body.append(f'<div class="math">{to_mathml(node, "block")}</div>\n')
    raise nodes.SkipNode


def setup(app):
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
