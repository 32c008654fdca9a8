"""Compile the kernels, and complete the metadata of pyproject.toml with addresses and the description.

The environment variable ``SKTOPIC_DEBUG_KERNELS`` chooses a build that finds faults in kernels:

``1``
    Bounds and initialisation checks: an index that a kernel trusted wrongly raises IndexError.
``sanitize``
    AddressSanitizer and UndefinedBehaviorSanitizer (GCC or Clang, not on Windows), which see pointers
    too. The interpreter has to load their runtime first: ``make sanitize`` does.
``thread``
    ThreadSanitizer, which sees two threads at one place of memory that do not wait for each other; in the
    same way, by ``make races``.

These builds also test code of other processors and compilers: ``1`` uses C11 alone and unsigned chars, as on
ARM, and ``sanitize`` uses no instructions beyond the baseline of x86-64 (``_kernels/numbers/_compiler.h``).
"""

import os
import re
import sys
from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

KERNELS = Path("sktopic/_kernels")
# What Cython writes into every module that takes arrays is compiled once, in a module of its own.
SHARED = "sktopic._kernels._cyutility"

SANITIZERS = {"sanitize": "-fsanitize=address,undefined", "thread": "-fsanitize=thread"}
BUILD = os.environ.get("SKTOPIC_DEBUG_KERNELS", "0") or "0"
if BUILD not in ("0", "1", *SANITIZERS):
    raise SystemExit(f"SKTOPIC_DEBUG_KERNELS is 0, 1, sanitize or thread, got {BUILD!r}")

directives = {
    "language_level": 3,
    "boundscheck": BUILD == "1",
    "wraparound": False,
    "initializedcheck": BUILD == "1",
    "cdivision": True,
    "freethreading_compatible": True,
}

link_args = []
if sys.platform == "win32":
    compile_args = ["/O2", "/std:c11"]
else:
    compile_args = ["-fno-math-errno", "-fopenmp-simd"]
    if BUILD == "0":
        compile_args += ["-O3", "-g0"]  # many interpreters ask for -g, which takes a quarter of the time
    elif BUILD == "1":
        compile_args += ["-O1", "-g0", "-funsigned-char"]
    else:
        compile_args += ["-O1", "-g"]
    if BUILD in SANITIZERS:
        link_args = [SANITIZERS[BUILD]]
        compile_args += [*link_args, "-fno-omit-frame-pointer"]
    if BUILD == "sanitize":
        compile_args.append("-fno-sanitize-recover=undefined")
macros = {"1": [("SKTOPIC_PORTABLE", None)], "sanitize": [("SKTOPIC_NO_CLONES", None)]}.get(BUILD, [])


def kernel(name, sources):
    return Extension(
        name,
        sources,
        define_macros=macros,
        extra_compile_args=compile_args,
        extra_link_args=link_args,
        include_dirs=[KERNELS.as_posix()],
        depends=[header.as_posix() for header in KERNELS.rglob("*.h")],
        libraries=[] if sys.platform == "win32" else ["m"],
    )


class BuildKernels(build_ext):
    """Translate and compile on all cores, unless ``--parallel`` says on how many."""

    def build_extensions(self):
        if self.parallel is None:
            affinity = getattr(os, "sched_getaffinity", None)
            self.parallel = len(affinity(0)) if affinity else os.cpu_count()
        folder = Path("build", f"kernels-{BUILD}")
        folder.mkdir(parents=True, exist_ok=True)
        translated = cythonize(
            self.extensions,
            build_dir=folder.as_posix(),
            compiler_directives=directives,
            shared_utility_qualified_name=SHARED,
            nthreads=self.parallel,
            cache="CYTHON_CACHE_DIR" in os.environ,  # where Cython then keeps what it has translated
            quiet=not self.verbose,
        )
        # Beside the sources, what was compiled before the last change of the kind of build is out of date.
        latest = Path("build", "kernels-built-last")
        if self.inplace and (not latest.exists() or latest.read_text() != BUILD):
            latest.write_text(BUILD)
        for extension, in_c in zip(self.extensions, translated):
            extension.sources = in_c.sources
            if self.inplace:
                extension.depends = [*extension.depends, latest.as_posix()]
        # Long ones first, so that the last to be compiled do not leave cores idle.
        self.extensions.sort(key=lambda extension: os.path.getsize(extension.sources[0]), reverse=True)
        super().build_extensions()


def repository():
    """Return the address of the repository, or "" if none is set."""
    # Without tomllib: on an older Python, pip then gets as far as requires-python and says what is wrong.
    return re.search(r'^repository = "(.*)"$', Path("pyproject.toml").read_text("utf-8"), re.M)[1]


def pages(repository):
    """Return the address at which a repository's pages are published."""
    return re.sub(r"https://github\.com/([^/]+)/", r"https://\1.github.io/", repository)


def urls(repository):
    """Return the addresses in the metadata by their labels: none without a repository."""
    if not repository:
        return {}
    return {
        "Repository": repository,
        "Documentation": pages(repository),
        "Changelog": f"{pages(repository)}/changelog.html",
        "Issues": f"{repository}/issues",
    }


def readme(repository):
    """Return README.md for the package index, where relative links lead nowhere.

    Links and pictures get the address of the repository, at the tag of the version. Without a repository,
    pictures are left out, and only the texts of links remain.
    """
    text = Path("README.md").read_text("utf-8")
    badges = r"\[!\[[^\]]*\]\([^)]*\)\]\([^)]*\)\n*"
    picture, link = r"!\[([^\]]*)\]\((?!\w+:)([^)]+)\)", r"\[([^\]]*)\]\((?!\w+:|#)([^)]+)\)"
    if not repository:
        text = re.sub(picture + r"\n*", "", re.sub(badges, "", text))
        return re.sub(r"\[([^\]]*)\]\((?:(?!\w+:|#)|https://[\w.]*/?OWNER\b)[^)]*\)", r"\1", text)
    version = re.search(r'^__version__ = "(.+)"$', Path("sktopic/__init__.py").read_text("utf-8"), re.M)[1]
    text = re.sub(picture, rf"![\1]({repository}/raw/v{version}/\2)", text)
    return re.sub(link, rf"[\1]({repository}/blob/v{version}/\2)", text)


if __name__ == "__main__":  # processes that translate may import this file
    kernels = [
        kernel(".".join(source.with_suffix("").parts), [source.as_posix()])
        for source in sorted(KERNELS.rglob("*.pyx"))
    ]
    setup(
        project_urls=urls(repository()),
        long_description=readme(repository()),
        long_description_content_type="text/markdown",
        ext_modules=[*kernels, kernel(SHARED, [])],
        cmdclass={"build_ext": BuildKernels},
    )
