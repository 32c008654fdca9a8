"""The list of compiled kernels; everything else about the package is in pyproject.toml.

Set ``SKTOPIC_DEBUG_KERNELS=1`` to build with bounds and initialisation checks, which find the
inputs a kernel trusted wrongly.
"""

import os
import sys
from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, setup

DEBUG = os.environ.get("SKTOPIC_DEBUG_KERNELS", "0") not in ("", "0")

directives = {
    "language_level": 3,
    "boundscheck": DEBUG,
    "wraparound": False,
    "initializedcheck": DEBUG,
    "cdivision": True,
    "freethreading_compatible": True,
}

if sys.platform == "win32":
    compile_args = ["/O2"]
else:
    compile_args = ["-O1" if DEBUG else "-O3", "-fno-math-errno", "-fopenmp-simd"]

extensions = [
    Extension(
        f"sktopic._kernels.{source.stem}",
        [source.as_posix()],
        extra_compile_args=compile_args,
        depends=[header.as_posix() for header in Path("sktopic/_kernels").glob("*.h")],
        libraries=[] if sys.platform == "win32" else ["m"],
    )
    for source in sorted(Path("sktopic/_kernels").glob("*.pyx"))
]

setup(ext_modules=cythonize(extensions, compiler_directives=directives, force=DEBUG))
