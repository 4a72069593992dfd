# make demo   sets everything up and ports, builds and reports a bundled example
# make test   sets everything up and runs the tests
# make test-all   runs with them those that show the same on further packages, examples and targets
# make fuzz   tries inputs at random
# make site   builds the documentation into build/site
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
# The executor's C++. Its headers are what a program includes in the place of CUDA's: mostly tables of macros, not formatted.
NATIVE := src/hipport/executor/native
# PyTorch's release whose headers the extensions are compiled against; hipport itself does not need it.
TORCH ?= torch==2.13.0
# What scripts that build and try extensions load of it; torch.distributed.tensor, with sympy, by manual_seed.
LOADED := import torch.utils.cpp_extension, torch.testing, torch.utils.serialization, torch.distributed.tensor, numpy

# pip would compile ten thousand modules, most of which are never loaded; Python compiles those that are.
PIP := $(BIN)/pip install --quiet --no-compile

# Hundreds of tests start a Python; each would compile two hundred modules again.
unexport PYTHONDONTWRITEBYTECODE

# Processes that run tests.
WORKERS ?= $(shell getconf _NPROCESSORS_ONLN)

.PHONY: demo test test-all fuzz lint lint-beside-torch lint-python lint-native site toolchain toolchain-old toolchains clean

demo: $(VENV)/with-torch toolchain
	@rm -rf demo
	$(BIN)/hipport rewrite ext_examples/elementwise ext_examples/tiled_matmul --out demo || test $$? = 1
	$(BIN)/hipport build demo --target gfx942,gfx1100

# What has to be there comes at once, and is looked at meanwhile: some of it waits for the network, or unpacks with one
# processor.
test:
	$(MAKE) -j 4 toolchains lint-beside-torch lint-native
	$(BIN)/pytest $(FURTHER) -n $(WORKERS) --dist worksteal

# A type checker that reads a half installed PyTorch finds errors.
lint-beside-torch: $(VENV)/with-torch
	$(MAKE) lint-python

test-all: FURTHER := --further
test-all: test

# Inputs at random, for SECONDS on each processor; prints how many, and keeps what breaks a law in FOUND.
SECONDS ?= 600
FOUND ?= fuzz-found
fuzz: $(VENV)/installed
	$(BIN)/python tests/fuzz/fuzz.py --seconds $(SECONDS) --found $(FOUND)

lint:
	$(MAKE) -j 2 lint-python lint-native

lint-python: $(VENV)/installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

lint-native: $(VENV)/installed
	$(BIN)/clang-format --dry-run --Werror $(NATIVE)/*.cpp $(NATIVE)/runtime/* $(NATIVE)/math/*
	ls $(NATIVE)/runtime/*.cpp $(NATIVE)/math/*.cpp | xargs -P $$(nproc) -n 1 $(BIN)/clang-tidy --quiet

# Tests build it as well (tests/test_site.py).
site: $(VENV)/installed
	$(BIN)/mkdocs build --strict

toolchain: $(VENV)/installed
	$(BIN)/hipport toolchain install hipcc-7.0

# With an older one, for the release before ROCm 6.
toolchains: toolchain toolchain-old

toolchain-old: $(VENV)/installed
	$(BIN)/hipport toolchain install hipcc-5.2

$(VENV)/installed: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(PIP) --editable '.[dev]'
	@touch $@

$(VENV)/with-torch: $(VENV)/installed
	$(PIP) $(TORCH) setuptools wheel ninja numpy scipy
# Such scripts may not write here: without this, each of them would compile PyTorch's modules again.
	$(BIN)/python -c '$(LOADED)'
	$(BIN)/python -m compileall -q $$($(BIN)/python -c 'import setuptools; print(*setuptools.__path__)')
	@touch $@

clean:
	rm -rf $(VENV) demo build dist
