PYTHON ?= python3
WORKERS ?= auto
PYTEST_ARGS ?=
BENCH_ARGS ?=

BIN := .venv/bin
SETUP := pyproject.toml constraints.txt
INSTALL = $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt
# Hundreds of tests provoke a warning on purpose: a list of them all would bury the failures.
PYTEST = $(BIN)/python -m pytest --disable-warnings -n $(WORKERS) --maxprocesses 8 --dist worksteal $(PYTEST_ARGS)

# One stamp per set of packages, inside .venv so that deleting the one deletes the other.
CORE := .venv/core.stamp
DEV := .venv/dev.stamp
EXTRAS := .venv/extras.stamp
DOCS := .venv/docs.stamp

.DEFAULT_GOAL := help
.PHONY: help demo test test-extras test-slow mutants test-versions test-wheel newest check bench dist docs clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-14s %s\n", $$1, $$2 }' Makefile

demo: $(CORE) ## fit the built-in data and write a report page
	@$(BIN)/latens demo

# pytest rewrites 7,000 assertions so that a failure shows what was compared: a tenth of a minute of two cores for tests
# that pass. What fails once fails again, and `.venv/bin/pytest --lf` shows it.
test: $(DEV) ## the tests that need no optional package, with the doctests
	$(PYTEST) --assert=plain --showlocals -m "not slow and not extras and not gpu"

# pytest's status 5 says that no test carries the marker, which is no failure.
test-extras: $(EXTRAS) ## the tests that need an optional package or a GPU
	$(PYTEST) -m "(extras or gpu) and not slow" || test $$? -eq 5

test-slow: $(EXTRAS) ## the tests that take long
	$(PYTEST) -m slow || test $$? -eq 5

# Each of the two has an environment of its own, beside .venv.
test-versions: ## fit, save, load, report on the oldest and the newest packages
	@$(PYTHON) .ci/versions.py test

test-wheel: dist ## the first commands of README.md with the wheel, in an empty environment
	@$(PYTHON) .ci/first_commands.py

newest: ## write constraints-oldest.txt and constraints-newest.txt anew
	@$(PYTHON) .ci/versions.py refresh

mutants: $(EXTRAS) ## plant known bugs one by one, and see that the tests notice each
	$(BIN)/python -m tests.mutants

check: $(DEV) ## format, lint, types, import contracts
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

bench: $(DEV) ## time and quality beside other packages
	$(BIN)/python -m benchmarks $(BENCH_ARGS)

dist: $(DEV) ## wheel and sdist, under dist/
	@rm -rf dist
	$(BIN)/python -m hatchling build -d dist

docs: $(DOCS) ## the documentation, under docs/_build/html
	$(BIN)/sphinx-build -W --keep-going -b html docs docs/_build/html

clean: ## back to a fresh checkout
	rm -rf .venv .venv-oldest .venv-newest .mypy_cache .pytest_cache .ruff_cache .import_linter_cache build dist docs/_build docs/gallery docs/reference out
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# BLAS threads would compete with the test workers, and make timings depend on the machine's load.
test test-extras test-slow bench: export OMP_NUM_THREADS = 1
test test-extras test-slow bench: export OPENBLAS_NUM_THREADS = 1
test test-extras test-slow bench: export MKL_NUM_THREADS = 1
test test-extras test-slow bench: export VECLIB_MAXIMUM_THREADS = 1

# An environment whose interpreter no longer starts (Python upgraded, folder moved) is made anew.
$(CORE): $(SETUP)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "latens needs Python 3.11 or newer; name one: make PYTHON=python3.12 ..." >&2; exit 1; }
	@$(BIN)/python -c '' 2>/dev/null || $(PYTHON) -m venv --clear .venv
	@echo "installing latens into .venv"
	@$(INSTALL) -e .
	@touch $@

$(DEV): $(CORE)
	@echo "installing the development tools"
	@$(INSTALL) -e '.[dev]'
	@touch $@

$(EXTRAS): $(DEV)
	@echo "installing the optional packages"
	@$(INSTALL) -e '.[dev,all,peers]'
	@touch $@

$(DOCS): $(DEV)
	@echo "installing the documentation tools"
	@$(INSTALL) -e '.[dev,docs,plot,table,dask,torch]'
	@touch $@
