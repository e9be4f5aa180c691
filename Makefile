# Two commands for a fresh machine: `make trial` runs one whole trial on the twin, `make test` runs the tests.
# Both set up .venv first: one pip call, a check that OpenCV imports, then a stamp; after that nothing is resolved again.

PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready

.PHONY: trial test test-all bench clean

trial: $(READY)
	@$(BIN)/trialcell run

test: $(READY)
	@$(BIN)/python -m pytest -n 2 --dist worksteal -m "not slow and not hardware"

test-all: $(READY)
	@$(BIN)/python -m pytest -n 2 --dist worksteal -m "not hardware"

bench: $(READY)
	@for script in $(filter-out benchmarks/make_runs.py,$(wildcard benchmarks/*.py)); do echo "== $$script"; $(BIN)/python $$script || exit 1; done

clean:
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache

$(READY): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "trialcell needs Python 3.11 or newer; found: $$($(PYTHON) --version 2>&1). Name another: make trial PYTHON=python3.12" >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || \
	  { echo "this Python can't make virtual environments: install the system package python3-venv (Debian, Ubuntu: sudo apt install python3-venv)" >&2; exit 1; }
	@echo "setting up .venv (once; about a minute, some 600 MB) ..."
	@$(PYTHON) -m venv .venv
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]' || \
	  { echo "installing failed: the first set-up needs a network that reaches a Python package index" >&2; exit 1; }
	@$(BIN)/python -c 'import cv2' 2>/dev/null || { \
	  version=$$($(BIN)/python -c 'from importlib.metadata import version; print(version("opencv-python"))') && \
	  echo "the system has no libGL: taking opencv-python-headless $$version instead of opencv-python" && \
	  $(BIN)/python -m pip uninstall --quiet --disable-pip-version-check --yes opencv-python && \
	  $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps "opencv-python-headless==$$version" && \
	  $(BIN)/python -c 'import cv2'; } || { echo "OpenCV can't be imported, not even without a display" >&2; exit 1; }
	@touch $(READY)
