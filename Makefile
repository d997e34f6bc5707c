# Two commands matter: `make demo` and `make test`. Both make the environment they need.

PYTHON ?= python3
BIN := .venv/bin
export HF_HUB_OFFLINE ?= 1

.DELETE_ON_ERROR:  # half an environment is begun anew
.PHONY: demo test lint types contracts unit docs bench-stores dev clean

demo: .venv/.local  ## ingest the bundled corpus, ask one two-hop question, print the trace
	@$(BIN)/clew demo

test: lint types contracts unit  ## everything that CI runs

lint: .venv/.dev
	$(BIN)/ruff check --quiet .
	$(BIN)/ruff format --check --quiet .

types: .venv/.dev .types/clew
	$(BIN)/mypy -p clew

contracts: .venv/.dev
	$(BIN)/lint-imports --no-logo

unit: .venv/.dev
	$(BIN)/python -m pytest

docs: .venv/.dev  ## draw the pictures in the README anew
	$(BIN)/clew graph retrieval --into README.md
	$(BIN)/clew graph ingestion --into README.md

SCALE ?= 100k 500k
bench-stores: .venv/.local  ## time the stores on synthetic collections; SCALE=1m for a million
	$(BIN)/clew bench-stores $(SCALE)

dev: .venv/.dev  ## serve both graphs on 127.0.0.1:2024, offline
	LANGGRAPH_CLI_NO_ANALYTICS=1 LANGGRAPH_NO_VERSION_CHECK=true LANGSMITH_TRACING=false \
	$(BIN)/langgraph dev --no-browser --no-reload

clean:
	rm -rf .venv .types .mypy_cache .ruff_cache .pytest_cache .hypothesis *.egg-info

.venv/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Clew needs Python 3.11 or later; run make PYTHON=/path/to/it."; exit 1; }
	$(PYTHON) -m venv .venv

.venv/.local: pyproject.toml constraints.txt | .venv/bin/python
	$(call install,$(if $(wildcard .venv/.dev),dev,local))
	@touch $@ $(wildcard .venv/.dev)

.venv/.dev: pyproject.toml constraints.txt | .venv/bin/python
	$(call install,dev)
	@touch $@ .venv/.local

define install
	@echo "Installing (a few minutes, once) ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[$(1)]'
endef

.types/clew:
	@mkdir -p .types && ln -sfn .. .types/clew
