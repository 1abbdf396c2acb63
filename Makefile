# Each target creates .venv if needed, so all of them work on a fresh clone.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
DEMO_READY := $(VENV)/.demo-ready
DOCS_READY := $(VENV)/.docs-ready
WORKERS ?= 2
CHECKED := src tests .ci $(wildcard benchmarks docs/*.py examples experiments)
PYTEST := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal

.PHONY: help setup locked lock image demo test coverage golden lint format docs notebooks install calibrate fuzz bench reproduce fresh clean

help:  ## list the targets
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

setup: $(READY)  ## create .venv with the package, all extras except gpu, and compiled kernels

# The stamp depends on pyproject.toml alone: the environment is updated when a requirement changes.
$(READY): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "mcsquared requires Python 3.11 or later: make PYTHON=/path/to/python3.11 $(MAKECMDGOALS)" >&2; exit 1; }
	@echo "Installing into $(VENV): takes a few minutes the first time (pip prints nothing meanwhile)"
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --editable '.[all,dev]'
	@echo "Compiling the kernels: takes a minute or two the first time"
	$(BIN)/python -m mcsquared.compile
	@touch $@

# Exactly the packages of the lock file, checked by their hashes: CPython 3.11 on 64-bit Linux.
locked:  ## create .venv from requirements.lock
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --require-hashes --no-deps -r requirements.lock
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --editable .
	$(BIN)/python -m mcsquared.compile
	@touch $(READY)

lock: $(READY)  ## write requirements.lock again, with the newest versions
	mkdir -p build
	$(BIN)/python -m pip install --quiet --dry-run --ignore-installed --report build/report.json '.[all,dev]' hatchling editables
	$(BIN)/python .ci/dependencies.py lock build/report.json > requirements.lock

image:  ## build the container image and test it, if a container engine runs
	.ci/test_image

# The demo needs the base install only. In an environment with everything, that one is used.
# Python compiles the modules it imports; those of all packages would take pip ten seconds.
$(DEMO_READY): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "mcsquared requires Python 3.11 or later: make PYTHON=/path/to/python3.11 $(MAKECMDGOALS)" >&2; exit 1; }
	@echo "Installing the base package into $(VENV): about half a minute"
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --no-compile --editable .
	@touch $@

demo: $(if $(wildcard $(READY)),$(READY),$(DEMO_READY))  ## run the demo on the paper's letters
	$(BIN)/mc2 demo letters
	@echo "Next: . $(BIN)/activate, then mc2 demo stdlib, or mc2 fit FILE.csv --text COLUMN for your own file"

# One linear-algebra thread per pytest worker: two workers share two cores.
test: $(READY)  ## run the tests, except those marked slow or calibrate
	$(PYTEST) $(TESTS)

coverage: $(READY)  ## run the tests with line coverage; HTML in build/coverage
	$(PYTEST) --cov --cov-report= $(TESTS)
	$(BIN)/coverage html --quiet
	$(BIN)/coverage report --skip-covered --sort=cover

golden: $(READY)  ## compare the draws with those recorded in tests/golden; CASES="words_finite ..."
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m tests.golden compare $(CASES)

lint: $(READY)  ## run ruff, mypy and the import contract
	$(BIN)/ruff format --check $(CHECKED)
	$(BIN)/ruff check $(CHECKED)
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python .ci/dependencies.py licences

format: $(READY)  ## format the code with ruff
	$(BIN)/ruff format $(CHECKED)
	$(BIN)/ruff check --fix $(CHECKED)

# MkDocs and its plugins are large and used by `make docs` only, so setup leaves them out.
$(DOCS_READY): $(READY)
	$(BIN)/python -m pip install --quiet --editable '.[docs]'
	@touch $@

docs: $(DOCS_READY)  ## build the documentation in build/site
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	$(BIN)/python docs/notebooks.py build/site/notebooks
	@echo "Open build/site/index.html, or run $(BIN)/mkdocs serve to use the search"

notebooks: $(DOCS_READY)  ## write the examples as notebooks to build/notebooks, and run them
	$(BIN)/python docs/notebooks.py build/notebooks
	$(BIN)/python -m nbconvert --to notebook --execute --inplace build/notebooks/*.ipynb

install:  ## build the sdist and the wheel, and use them in empty environments; CASES="base plot ..."
	$(PYTHON) .ci/test_install.py $(CASES)

calibrate: $(READY)  ## run the long exactness tests of the samplers
	$(PYTEST) -m calibrate $(TESTS)

fuzz: $(READY)  ## damage and forge files, thousands of each kind; TARGETS="models csv" CASES=500 FIRST=0 WORKERS=2
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m tests.fuzz --jobs $(WORKERS) $(TARGETS) $(if $(CASES),--cases $(CASES)) $(if $(FIRST),--first $(FIRST))

bench: $(READY)  ## measure speed, memory and quality against other packages; QUESTIONS="throughput ..."
	$(BIN)/python -m benchmarks $(QUESTIONS)

reproduce: $(READY)  ## run the paper's experiments at tiny scale; needs no data
	$(BIN)/mc2 reproduce all --scale tiny --out build/reproduction

fresh:  ## delete compiled kernels; needed after an edit in kernels/
	find src -name '*.nb[ic]' -delete

clean:  ## delete the environment and all caches
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache .coverage build dist
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +
