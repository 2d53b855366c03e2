# `make demo` and `make test` need nothing but Python 3.11+ and make:
# each sets up a virtual environment of its own the first time.

PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
# One more than cores: some tests wait for the commands that they start.
TESTS_AT_A_TIME ?= $(shell echo $$(( $$(getconf _NPROCESSORS_ONLN) + 1 )))

.PHONY: demo test lint clean
.DEFAULT_GOAL := demo

# What the environment holds follows from pyproject.toml, so it is the stamps' only input.
$(VENV)/.made: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "ardchoice needs Python 3.11 or later; say which: make PYTHON=python3.12 ..." >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	@touch $@

$(VENV)/.dev: $(VENV)/.made
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@

demo: $(VENV)/.made ## set up and run the whole job on the Swissmetro data
	@$(BIN)/ardchoice demo

test: $(VENV)/.dev ## set up and run every test
	$(BIN)/python -m pytest -n $(TESTS_AT_A_TIME) --dist worksteal

lint: $(VENV)/.dev ## formatting, lint, types and the import law
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .import_linter_cache
