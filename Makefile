# Every target sets up what it needs, so that each works on a fresh clone.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
DOCS_READY := $(VENV)/.docs-ready
WORKERS ?= 2
CHECKED := src tests $(wildcard benchmarks docs/*.py examples experiments)

.PHONY: help setup demo test lint format docs calibrate bench reproduce fresh clean

help:  ## show this list
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

setup: $(READY)  ## make .venv with the package, its kernels compiled, and all extras but the GPU's

# The stamp depends on pyproject.toml alone: set up once, and again when a requirement changes.
$(READY): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "mcsquared needs Python 3.11 or later: make PYTHON=/path/to/python3.11 $(MAKECMDGOALS)" >&2; exit 1; }
	@echo "setting up $(VENV), once: some minutes, most of them without a word"
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --editable '.[all,dev]'
	@echo "compiling the kernels, once: a minute or two"
	$(BIN)/python -m mcsquared.compile
	@touch $@

demo: $(READY)  ## start to result on the letters of the paper
	$(BIN)/mc2 demo letters
	@echo "next: . $(BIN)/activate, then mc2 demo stdlib, or mc2 fit FILE.csv --text COLUMN for a file of your own"

# Two workers share two cores: one thread each for linear algebra. Compiled kernels are cached.
test: $(READY)  ## the tests, without the long ones
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n $(WORKERS) $(TESTS)

lint: $(READY)  ## ruff, the type check and the import contract
	$(BIN)/ruff format --check $(CHECKED)
	$(BIN)/ruff check $(CHECKED)
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(READY)  ## let ruff lay out the code
	$(BIN)/ruff format $(CHECKED)
	$(BIN)/ruff check --fix $(CHECKED)

# What builds the site is of no use for anything else, and large: it is not part of the setup.
$(DOCS_READY): $(READY)
	$(BIN)/python -m pip install --quiet --editable '.[docs]'
	@touch $@

docs: $(DOCS_READY)  ## the documentation as a site in build/site
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@echo "open build/site/index.html, or for its search: $(BIN)/mkdocs serve"

calibrate: $(READY)  ## the long exactness tests of the samplers
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n $(WORKERS) -m calibrate $(TESTS)

bench: $(READY)  ## speed, memory and quality beside other packages; QUESTIONS="throughput ..."
	$(BIN)/python -m benchmarks $(QUESTIONS)

reproduce: $(READY)  ## the paper's experiments at tiny scale, without any data
	$(BIN)/mc2 reproduce all --scale tiny --out build/reproduction

fresh:  ## forget compiled kernels, after an edit in kernels/
	find src -name '*.nb[ic]' -delete

clean:  ## remove the environment and every cache
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache build dist
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +
