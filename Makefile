# Each target sets up .venv by itself, once. PYTHON picks the interpreter (3.11 or newer).
PYTHON ?= python3
BIN := .venv/bin
export PIP_CONSTRAINT := constraints.txt
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: demo test faults check docs results reference bench wheel clean

demo: .venv/ready
	$(BIN)/reslab demo

# One worker more than there are cores: some tests wait for processes of their own.
test: .venv/ready-dev
	PYTEST_XDIST_AUTO_NUM_WORKERS=$$(( $$(getconf _NPROCESSORS_ONLN) + 1 )) $(BIN)/python -m pytest

faults: .venv/ready-dev
	$(BIN)/python -m tests.experiments.faults --kills 50

check: .venv/ready-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/basedpyright

docs: .venv/ready-dev
	$(BIN)/zensical build --clean

results: .venv/ready-dev
	$(BIN)/python -m tools.pages
	$(BIN)/python -m tools.figures
	$(BIN)/python -m tools.measurements

reference: .venv/ready-dev
	$(BIN)/python -m tools.reference

bench: .venv/ready-dev
	$(BIN)/python benchmarks/networks.py
	$(BIN)/python benchmarks/cifar.py

wheel: .venv/ready-dev
	rm -rf dist build/alone
	$(BIN)/python -m hatchling build -t wheel
	$(PYTHON) -m venv build/alone
	build/alone/bin/python -m pip install --quiet dist/*.whl
	$(BIN)/python -m tests.smoke build/alone

clean:
	rm -rf .venv site build dist

.venv/ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --editable .
	touch $@

.venv/ready-dev: .venv/ready
	$(BIN)/python -m pip install --quiet --editable '.[test,check,docs]'
	touch $@
