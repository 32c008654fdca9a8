# Needs Python with its venv module and a C compiler, nothing else. Everything is installed into
# .venv; stamp files there record what was done when, so a second call starts at once.

PYTHON ?= $(or $(shell .ci/find-python $(VERSIONS)),python3)
VENV ?= .venv
PYTEST_ARGS ?=
SPHINX_ARGS ?=
BENCH_ARGS ?=
# The gate leaves it empty: nothing may be missing there.
CHECK_ARGS ?= --allow-missing
CLANG ?= clang
HOSTILE_CASES ?= 200000
SANITIZE_CASES ?= 20000
FUZZ_SECONDS ?= 600
NIGHTLY := https://pypi.anaconda.org/scientific-python-nightly-wheels/simple

# Extras that "make dev" installs.
DEV_EXTRAS := plot datasets dask test browser lint doc

BIN := $(VENV)/bin
# Modules are compiled when they are first imported, which most never are. For new Pythons an older version may
# have a wheel where the newest has none.
PIP_INSTALL := $(BIN)/python -m pip install -qq --prefer-binary --no-compile --disable-pip-version-check
# On all cores; "-n 0" among PYTEST_ARGS runs the tests in one process.
PYTEST := $(abspath $(BIN))/python -m pytest -n auto --dist worksteal
BUILD_REQUIRES := "setuptools>=77" "Cython>=3.1"
KERNELS := $(wildcard $(addprefix sktopic/_kernels/*/*.,pyx pxd h))
KERNEL_MODULES := $(subst /,.,$(basename $(wildcard sktopic/_kernels/*/*.pyx)))
PROSE := $(wildcard *.md) Makefile setup.py \
	pyproject.toml recipe sktopic tests examples benchmarks doc
VERSIONS := 3.12 3.13 3.14 3.14t 3.15 3.15t
# Tests of what has no state: each runs in several threads at once.
PURE := tests/kernels tests/test_coherence.py tests/test_comparison.py tests/test_edge_numbers.py \
	tests/test_exact_sum.py tests/test_metrics.py tests/test_prior.py tests/test_seeding.py tests/test_statistics.py

# Those of kernels that divide their work among threads, and of models in several threads; ThreadSanitizer knows
# no threads that a fork begins.
WATCHED_FOR_RACES := tests/kernels/test_team.py tests/kernels/test_gibbs.py tests/kernels/test_statistics.py \
	tests/kernels/test_topics.py tests/test_concurrency.py tests/test_parallel.py \
	--deselect tests/kernels/test_team.py::test_a_fork_goes_on_alone

WITHOUT_MEMORY := tests/hostile/test_concurrency.py::test_no_memory_is_a_memory_error_and_leaves_the_model

.PHONY: help demo test coverage test-all parallel hostile fuzz bounds sanitize races nightly clang aarch64 headers
.PHONY: lint bench instructions doc readme check-doc dev dist addresses release-check clean
.NOTPARALLEL:

help:
	@echo "make demo      install into .venv, run examples/demo.py, write its picture to demo/"
	@echo "make test      install into .venv, run the test suite and the doctests"
	@echo "make coverage  the test suite, with the lines of Python that it does not run"
	@echo "make test-all  the test suite on every installed Python ($(VERSIONS)), and the long tests"
	@echo "make parallel  tests of kernels, metrics and statistics, each in four threads at once"
	@echo "make hostile   random programs, damaged files, kills and threads, at full size"
	@echo "make fuzz      readers and load, with inputs that Atheris searches for"
	@echo "make bounds    tests of kernels and estimators, with kernels that check every index"
	@echo "make sanitize  tests of kernels and hostile tests, with kernels that AddressSanitizer watches"
	@echo "make races     tests of teams and threads, with kernels that ThreadSanitizer watches"
	@echo "make nightly   the test suite, with last night's versions of the dependencies"
	@echo "make clang     tests of kernels, with kernels that $(CLANG) has compiled"
	@echo "make aarch64   tests of kernels on aarch64, emulated by qemu (Debian 12, root the first time)"
	@echo "make headers   compile the C headers with every installed compiler, and compare the results"
	@echo "make lint      check style and types: ruff, cython-lint, codespell, layers, mypy, stubtest"
	@echo "make doc       build the documentation into doc/_build/html, warnings are errors, and test it"
	@echo "make readme    copy the figures of the front page into README.md"
	@echo "make check-doc  check the built pages: links, searches, spelling, descriptions of pictures"
	@echo "make bench     measure quality and speed against other libraries, into benchmarks/output"
	@echo "make instructions  count processor instructions in ten cases, compare with the stored counts (Debian 13)"
	@echo "make dev       install everything a contributor needs into .venv"
	@echo "make dist      build source distribution and wheel into dist/, with the checks of a release"
	@echo "make addresses  copy the addresses of pyproject.toml into texts with placeholders"
	@echo "make release-check  list what is missing for a release"
	@echo "make clean     remove all files that other targets created"
	@echo ""
	@echo "PYTHON=python3.12 chooses the interpreter, PYTEST_ARGS='tests/kernels -x' the tests."

demo: $(VENV)/.kernels $(VENV)/.extra-plot
	@mkdir -p demo
	$(BIN)/python examples/demo.py

test: $(VENV)/.kernels $(VENV)/.extra-test $(VENV)/.extra-dask
	$(PYTEST) $(PYTEST_ARGS)

# Lines that only child processes run count as missed.
coverage: $(VENV)/.kernels $(VENV)/.extra-test $(VENV)/.extra-dask $(VENV)/.extra-coverage
	$(PYTEST) --cov --cov-report=term-missing:skip-covered $(PYTEST_ARGS)

test-all:
	@for version in $(VERSIONS); do \
	    if python=$$(.ci/find-python $$version); then \
	        echo "--- Python $$version: $$python"; \
	        case $$version in *t) also=parallel;; *) also=;; esac; \
	        $(MAKE) test $$also PYTHON="$$python" VENV=$(VENV)-$$version || exit 1; \
	    else \
	        echo "--- Python $$version: not found"; \
	    fi; \
	done
	@$(MAKE) parallel hostile bounds sanitize races

# Long runs of samplers would find no more errors.
parallel: $(VENV)/.kernels $(VENV)/.extra-test $(VENV)/.extra-parallel
	$(PYTEST) --parallel-threads 4 -m "not law and not data" $(or $(PYTEST_ARGS),$(PURE))

hostile: $(VENV)/.kernels $(VENV)/.extra-test $(VENV)/.extra-dask
	SKTOPIC_HOSTILE_CASES=$(HOSTILE_CASES) $(PYTEST) tests/hostile $(PYTEST_ARGS)

fuzz: $(VENV)/.kernels $(VENV)/.extra-fuzz
	@mkdir -p build/fuzz
	$(BIN)/python .ci/fuzz.py build/fuzz -max_total_time=$(FUZZ_SECONDS) -rss_limit_mb=4096 -timeout=60

# Kernels that are built otherwise. A copy of the package is built in build/, and the tests run beside it, so
# that neither can meet the working build.
define watched_build
SKTOPIC_DEBUG_KERNELS=$(1) $(BIN)/python setup.py -q build --build-base build/$@ --build-lib build/$@/lib
rm -rf build/$@/lib/tests
cp -R tests pyproject.toml build/$@/lib
endef

bounds: $(VENV)/.extra-test
	@$(call watched_build,1)
	cd build/$@/lib && $(PYTEST) $(or $(PYTEST_ARGS),tests/kernels tests/test_common.py)

# A process that dies takes along what pytest captured: only what Python prints is captured.
# Threads have no stack of their own for signals: its removal is reported, wrongly, for threads that end with the
# interpreter. Processes that hostile tests start print nothing: their reports are in files. AddressSanitizer ends a
# process in which it finds no memory for itself, so tests that leave no memory are left out.
sanitize: $(VENV)/.extra-test $(VENV)/.extra-dask
	@CC=gcc; export CC; $(call watched_build,sanitize)
	@rm -f build/$@/report.*
	cd build/$@/lib && \
	    LD_PRELOAD="$$(gcc -print-file-name=libasan.so) $$(gcc -print-file-name=libubsan.so)" \
	    ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1:use_sigaltstack=0:log_path=$(abspath build/$@)/report \
	    UBSAN_OPTIONS=print_stacktrace=1:log_path=$(abspath build/$@)/report PYTHONMALLOC=malloc \
	    SKTOPIC_HOSTILE_CASES=$(SANITIZE_CASES) $(PYTEST) --capture=sys --deselect $(WITHOUT_MEMORY) \
	    $(or $(PYTEST_ARGS),tests/kernels tests/hostile) || \
	    { grep -hs -A 30 -e ERROR: -e "runtime error:" ../report.*; exit 1; }

# In one process, which ends with an error if a race was seen; of what is compiled here alone.
races: $(VENV)/.extra-test
	@CC=gcc; export CC; $(call watched_build,thread)
	cd build/$@/lib && LD_PRELOAD="$$(gcc -print-file-name=libtsan.so)" \
	    TSAN_OPTIONS="ignore_noninstrumented_modules=1 suppressions=$(abspath .ci/races-elsewhere)" \
	    $(PYTEST) -n 0 --capture=sys -m "not law" $(or $(PYTEST_ARGS),$(WATCHED_FOR_RACES))

nightly: $(VENV)/.kernels $(VENV)/.extra-test
	@$(PIP_INSTALL) --upgrade --pre --index-url $(NIGHTLY) --extra-index-url https://pypi.org/simple \
	    numpy scipy scikit-learn pandas
	$(BIN)/python -c "import numpy; assert 'dev' in numpy.__version__, 'no nightly NumPy was found'"
	$(PYTEST) $(PYTEST_ARGS)

# Not every loop becomes as wide as asked for.
clang: $(VENV)/.extra-test
	@CC=$(CLANG) CFLAGS=-Wno-pass-failed; export CC CFLAGS; $(call watched_build,0)
	cd build/$@/lib && $(PYTEST) $(or $(PYTEST_ARGS),tests/kernels)

aarch64: $(VENV)/.package
	PYTHON=$(BIN)/python .ci/aarch64 $(PYTEST_ARGS)

headers:
	$(PYTHON) .ci/headers

lint: $(VENV)/.kernels $(VENV)/.extra-lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	PATH="$(abspath $(BIN)):$$PATH" cython-lint sktopic/_kernels
	$(BIN)/codespell $(PROSE)
	$(BIN)/lint-imports
	$(BIN)/mypy
	$(BIN)/python -m mypy.stubtest --mypy-config-file pyproject.toml --ignore-missing-stub $(KERNEL_MODULES)
	$(BIN)/zizmor --offline --quiet --persona=pedantic .github

bench: $(VENV)/.kernels $(VENV)/.extra-bench
	$(BIN)/python benchmarks/peers.py $(BENCH_ARGS)

instructions: export PIP_CONSTRAINT := $(abspath benchmarks/instructions/environment.txt)
instructions: $(VENV)/.kernels
	$(BIN)/python benchmarks/instructions/count_instructions.py $(BENCH_ARGS)

doc: $(VENV)/.kernels $(addprefix $(VENV)/.extra-,doc test dask)
	$(BIN)/python -m sphinx -W --keep-going -b html $(SPHINX_ARGS) doc doc/_build/html
	$(BIN)/python .ci/check_site.py $(CHECK_ARGS) doc/_build/html
	$(PYTEST) -q doc/tests
	@echo "The documentation is in doc/_build/html/index.html"

readme: $(VENV)/.extra-doc
	$(BIN)/python doc/write_readme.py

check-doc: $(VENV)/.extra-doc
	$(BIN)/python .ci/check_site.py $(CHECK_ARGS) doc/_build/html

dev: $(VENV)/.kernels $(VENV)/.dev
	@echo "Ready: the package is installed editable in $(VENV), try 'make test'."

# The wheel is built from the source distribution. Tools are those of the release workflow. The list of components
# (CycloneDX) is that of an environment in which pip has installed the wheel.
dist: $(VENV)/.created
	@$(PIP_INSTALL) --require-hashes -r .github/release-requirements.txt
	rm -rf dist sktopic.egg-info/SOURCES.txt # which names what was there once
	PIP_CONSTRAINT=.github/build-constraints.txt $(BIN)/python -m build -q
	$(BIN)/python .ci/check_dist.py dist/*
	$(BIN)/python -m twine check --strict dist/*
	$(BIN)/check-wheel-contents dist
	$(BIN)/validate-pyproject pyproject.toml
	rm -rf build/user
	$(BIN)/python -m venv --without-pip build/user
	$(BIN)/python -m pip --python build/user/bin/python install -qq --no-compile dist/*.whl
	rm build/user/lib/*/site-packages/sktopic-*/direct_url.json # the path of the wheel on this machine
	$(BIN)/cyclonedx-py environment --output-file build/sktopic.cdx.json build/user/bin/python

addresses:
	@$(PYTHON) .ci/addresses.py

release-check:
	@$(PYTHON) .ci/release_check.py

$(VENV)/.created:
	@echo "Creating $(VENV) with $$($(PYTHON) --version)"
	@$(PYTHON) -m venv $(VENV)
	@$(PIP_INSTALL) $(BUILD_REQUIRES)
	@touch $@

# The package is installed editable: a change to a .py file needs nothing more.
$(VENV)/.package: $(VENV)/.created pyproject.toml setup.py
	@echo "Compiling the kernels and installing sktopic into $(VENV) (half a minute on two cores)"
	@$(PIP_INSTALL) --no-build-isolation --check-build-dependencies -e .
	@touch $@

# Kernels changed since: only what depends on them is compiled again.
$(VENV)/.kernels: $(VENV)/.package $(KERNELS)
	@if [ -n "$$(find $(KERNELS) -newer $(VENV)/.package)" ]; then \
	    $(BIN)/python setup.py -q build_ext --inplace; \
	fi
	@touch $@

# Write the requirements of extras, as the installed package states them, to a file.
requirements = $(BIN)/python -I -c "from importlib.metadata import requires; \
    extras = ['extra == \"' + extra + '\"' for extra in '$(1)'.split()]; \
    print(*(r.split(';')[0] for r in requires('sktopic') if any(e in r for e in extras)), sep='\n')" > $(2)

$(VENV)/.extra-%: $(VENV)/.package
	@echo "Installing what '$*' needs into $(VENV)"
	@$(call requirements,$*,$(VENV)/$*.txt)
	@$(PIP_INSTALL) -r $(VENV)/$*.txt
	@touch $@

# One call of pip takes less time than one for each extra.
$(VENV)/.dev: $(VENV)/.package
	@echo "Installing what a contributor needs into $(VENV)"
	@$(call requirements,$(DEV_EXTRAS),$(VENV)/dev.txt)
	@$(PIP_INSTALL) -r $(VENV)/dev.txt
	@touch $@ $(addprefix $(VENV)/.extra-,$(DEV_EXTRAS))

clean:
	rm -rf $(VENV) $(addprefix $(VENV)-,$(VERSIONS)) build dist demo sktopic.egg-info doc/_build \
		doc/auto_examples doc/generated doc/sg_execution_times.rst benchmarks/output \
		.mypy_cache .pytest_cache .ruff_cache .hypothesis .coverage
	rm -f $(addprefix sktopic/_kernels/,*.c *.so */*.c */*.so)
	find . -path ./.git -prune -o -type d -name __pycache__ -prune -exec rm -rf {} +
