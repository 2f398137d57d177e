# Every target sets up what it needs; running one twice does the work once.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PORT ?= 8000

.PHONY: install run test check interop bench hosts clean help

help:
	@echo "make run        serve the demo server over HTTP, on PORT (8000)"
	@echo "make test       run the tests"
	@echo "make check      mypy --strict and ruff"
	@echo "make interop    drive the demo server with other implementations' clients"
	@echo "make bench      measure against other implementations, side by side"
	@echo "make hosts      measure what each WSGI server does with it"
	@echo "make clean      remove everything that was generated"

install: $(VENV)/.installed

# A stamp is written last, so an interrupted install is done again. Serving needs the package alone.
$(VENV)/.package: setup.cfg pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "mcpref needs Python 3.11 or newer; name one with: make PYTHON=/path/to/python3.11" >&2; exit 1; }
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "setting up $(VENV) ..."
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[serve]'
	touch $@

$(VENV)/.installed: $(VENV)/.package
	@echo "installing what tests and checks need into $(VENV), once: this takes a minute ..."
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[test,dev]'
	touch $@

run: $(VENV)/.package
	$(BIN)/python -m mcpref serve mcpref.demo:server --http localhost:$(PORT)

test: install
	$(BIN)/python -m pytest

check: install
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

interop: install
	$(BIN)/python -m tests.interop

bench: install
	$(BIN)/python -m tests.bench

hosts: install
	$(BIN)/python -m tests.hosts

clean:
	rm -rf $(VENV) .venv-* build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
