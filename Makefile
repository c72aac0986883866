# `make demo` and `make test` need only Python 3.11 and make; everything else is set up here.
# A distribution builds its Python with profiles of how it is used, which makes it a quarter faster than one that was compiled at hand.
PYTHON ?= $(or $(shell /usr/bin/python3.11 -c 'import ensurepip' 2>/dev/null && echo /usr/bin/python3.11),python3)
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
CLASSES := $(VENV)/spark-classes.jsa

QUICK := tests/digests tests/kernels tests/surface tests/trust/test_first_version.py \
  $(addprefix tests/house/test_,contract.py extras.py kernels.py shape.py walls.py)

.PHONY: browser mariadb demo quick test slow bounds fuzz docs clean site

demo: $(READY)
	$(BIN)/sfumato demo

# While you work: the public surface, one case of every method, and the rules of the code. A minute and a half on two cores.
quick: $(READY)
	$(BIN)/ruff check src tests benchmarks reference_pages
	@$(BIN)/sfumato warm-up || true
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 $(QUICK)

# Types are checked beside the tests, and what is wrong with them is said last; the failure of either is a failure.
# What Python has compiled is kept, whatever the environment says: tests start hundreds of processes.
# Three at once on two cores while some of them wait for the Java machine or a browser, then two (`tests/conftest.py`).
# Kernels that have changed since the installation are compiled anew, once, instead of by numba in every process.
# Libraries get one thread each, for the processes already share the cores, and keep the memory that they will ask for again at once.
test: export PYTHONDONTWRITEBYTECODE =
test: export OMP_NUM_THREADS = 1
test: export POLARS_MAX_THREADS = 1
test: export MALLOC_TRIM_THRESHOLD_ = 1000000000
test: export MALLOC_MMAP_THRESHOLD_ = 1000000000
test: export MALLOC_TOP_PAD_ = 67108864
test: $(READY) browser mariadb $(CLASSES)
	$(BIN)/ruff check src tests benchmarks reference_pages
	$(BIN)/ruff format --check --quiet src tests benchmarks reference_pages
	@$(BIN)/sfumato warm-up || true
	@said=$$(mktemp); $(BIN)/mypy >$$said 2>&1 & types=$$!; \
	$(BIN)/python -m pytest -n 3 --dist loadscope --durations=15; tests=$$?; \
	wait $$types; types=$$?; cat $$said; rm -f $$said; exit $$((tests || types))

# Many more random cases, where tests draw them, and the tests that have the marker slow.
slow: $(READY)
	$(BIN)/python -m pytest --slow -n 2 $$(grep -rlE 'tests.slow import|mark.slow' tests --include='test_*.py')

# Kernels with bounds checks, through numba at run time. TESTS says which tests; all by default.
bounds: $(READY)
	SFUMATO_LOOPS=numba NUMBA_BOUNDSCHECK=1 $(BIN)/python -m pytest -n 2 $(TESTS)

# The studio's tests drive a real browser; where none can be installed they say so and are skipped.
browser:
	@command -v chromium >/dev/null || { apt-get update -qq && apt-get install -y -qq chromium >/dev/null; } || echo "no chromium: browser tests are skipped"

# Tests of MariaDB start a server of their own; where none can be installed they say so and are skipped.
mariadb:
	@command -v mariadbd >/dev/null || { apt-get update -qq && apt-get install -y -qq --no-install-recommends mariadb-server-core >/dev/null; } || echo "no MariaDB: its tests are skipped"

# Java's classes as the tests of Spark use them, once for an environment: six Java machines then start in half the time.
$(CLASSES): $(READY)
	-@$(BIN)/python -W ignore -m tests.engines.class_archive $@ >/dev/null 2>&1

# MINUTES of CPU time, SEED, or REPLAY=kind:seed:number as a failure names it.
fuzz: $(READY)
	$(BIN)/python -m benchmarks.fuzz --minutes $(or $(MINUTES),5) $(if $(SEED),--seed $(SEED)) $(if $(REPLAY),--replay $(REPLAY))

docs: $(READY)
	$(BIN)/python -m reference_pages

site: $(READY)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --constraint constraints.txt hatchling editables setuptools wheel 'numba==0.68.*'
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --no-build-isolation --editable '.[dev]'
	touch $(READY)

clean:
	rm -rf $(VENV) site .pytest_cache .mypy_cache .ruff_cache
