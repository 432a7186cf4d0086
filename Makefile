# Each target does its own set-up: a virtual environment in .venv, and what it needs installed there.
PYTHON ?= python3
# The tests of tracing and of Triton kernels need torch and triton, large downloads; `make test
# TORCH=no` skips them, and says so.
TORCH ?= yes

BIN := .venv/bin
READY_TO_TEST := $(if $(filter yes,$(TORCH)),.venv/.torch,.venv/.dev)

.PHONY: demo test toolchain check bench bench-selectors bench-search generated clean

demo: .venv/.demo
	@rm -rf .demo && mkdir .demo
	@cp tests/cases/original/nearest/base.py tests/cases/original/nearest/sample.json .demo
	@cp tests/cases/converted/nearest/impl.py .demo
	$(BIN)/tuner tune .demo --kb .demo/kb.sqlite
	$(BIN)/codegen emit .demo/manifest.json
	$(BIN)/codegen check .demo
	$(BIN)/codegen show .demo/impl_dispatch.py --shape 100,1000,32
	@echo 'Imported with nothing but Python itself (python -S -I):'
	@cd .demo && ../$(BIN)/python -S -I ../tests/demo.py

test: $(READY_TO_TEST)
	TUNED_DISPATCH_TOOLCHAINS=$(CURDIR)/.toolchains $(BIN)/python -m pytest -q -n auto

# Ascend's compiler in an environment of its own, over a GB, for the tests of `tuner gate`; they say
# that they are skipped where it is not there. It needs CPython 3.11.
toolchain: .venv/.demo
	$(BIN)/tuner toolchain install ascend --to .toolchains

check: .venv/.dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	for module in generated/*/impl_dispatch.py; do $(BIN)/mypy $$module || exit $$?; done
	$(BIN)/codegen check
	$(BIN)/tuner contract generated/*/impl.py

bench: .venv/.dev
	$(BIN)/python tests/bench/dispatch_speed.py

# How good fitted selectors are on shapes left out, rivals beside them: a quarter of an hour.
bench-selectors: .venv/.dev
	$(BIN)/python tests/bench/selectors_unseen.py

# How much less searching and adaptive measuring measure, by tables: a quarter of an hour.
bench-search: .venv/.dev
	$(BIN)/python tests/bench/search_evaluations.py
	$(BIN)/python tests/bench/adaptive_saves.py

# The modules in generated/, emitted again; tests/bench/gallery.py tunes them, on a device.
generated: .venv/.demo
	for manifest in generated/*/manifest.json; do $(BIN)/codegen emit $$manifest || exit $$?; done

clean:
	rm -rf .venv .toolchains .demo .nearest .mypy_cache .pytest_cache .ruff_cache .hypothesis dist build

.venv/bin/python:
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install -q --upgrade pip

.venv/.demo: .venv/bin/python pyproject.toml
	$(BIN)/python -m pip install -q -e '.[tuner]'
	@touch $@

.venv/.dev: .venv/bin/python pyproject.toml
	$(BIN)/python -m pip install -q -e '.[tuner,dev]'
	@touch $@

.venv/.torch: .venv/.dev
	$(BIN)/python -m pip install -q -e '.[torch]'
	@touch $@
