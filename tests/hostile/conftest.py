"""Hostile tests are for Linux: other systems limit, count and end processes in other ways, or not at all."""

import sys

collect_ignore_glob = [] if sys.platform == "linux" else ["*.py"]
