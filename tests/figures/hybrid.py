"""Figures in sentences of sktopic/hdp/_hybrid.py."""

from .tables import lost_by_table_indicators

PAGE = "sktopic/hdp/_hybrid.py"


SENTENCES = [
    ("and score {} nats per word less on KOS.", lambda: [lost_by_table_indicators()[0].rstrip("0")]),
]
