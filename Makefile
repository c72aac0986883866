# `make demo` and `make test` need only Python 3.11 and make; everything else is set up here.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: demo test slow docs clean

demo: $(READY)
	$(BIN)/sfumato demo

test: $(READY)
	$(BIN)/ruff check src tests benchmarks
	$(BIN)/ruff format --check --quiet src tests benchmarks
	$(BIN)/mypy
	$(BIN)/python -m pytest -n 2 --durations=15

slow: $(READY)
	SFUMATO_SLOW=1 $(BIN)/python -m pytest -n 2 tests/house/test_soundness.py

docs: $(READY)
	$(BIN)/python -m sfumato.catalogue

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[dev]'
	touch $(READY)

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache
