# Everything here needs only python3 (3.11 or newer) and make. The first target you run makes .venv; later ones reuse it.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
BUILD := build

.DEFAULT_GOAL := help
.PHONY: help demo test weights-test packages check unit lab frontend bench deep docs pictures lock clean

help: ## list the targets
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/  make \1|\2/' | column -t -s '|' 2>/dev/null || grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST)

$(READY): binder/requirements.txt pyproject.toml
	@PYTHON="$(PYTHON)" VENV="$(VENV)" sh .ci/venv
	@touch $(READY)

frontend: $(READY) ## build what pages load from src/frontend; the other targets do this where something has changed
	@$(BIN)/python src/frontend/hatch_build.py

demo: frontend ## run the first notebook on the embedded service; prints its table, writes build/first-video.html
	@$(BIN)/python .ci/demo.py $(BUILD)/first-video.html

test: frontend ## lint, check types, run every test
	@BIN="$(BIN)" sh .ci/test

weights-test: $(READY) ## test the engines of real weights, with torch in an environment of its own
	@VENV="$(VENV)" sh .ci/weights

packages: frontend ## build wheel and sdist, and try them on every Python from 3.11 up that is here
	@VENV="$(VENV)" BUILD="$(BUILD)" sh .ci/packages

check: $(READY) ## lint and check types only
	@$(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/lint-imports --no-logo && $(BIN)/mypy
	@$(BIN)/python src/frontend/hatch_build.py --check

unit: frontend ## the quick tests only
	@$(BIN)/pytest -q tests/models tests/transport tests/storage tests/test_*.py src

lab: frontend ## open JupyterLab on the notebooks; builds what pages load at each change of src/frontend
	@$(BIN)/python src/frontend/hatch_build.py --watch & trap "kill $$!" EXIT; $(BIN)/jupyter lab --notebook-dir notebooks $(if $(filter 0,$(shell id -u)),--allow-root)

bench: frontend ## measure beside peers, and print one table of the ratios
	@VENV="$(VENV)" sh .ci/peers
	@$(BIN)/python .ci/bench.py $(ONLY)

deep: frontend ## the large size of every measurement; takes its time
	@REELBOOK_SCREENSHOTS=1 $(BIN)/pytest -q --deep -n 2 --dist loadfile --no-loadscope-reorder

docs: frontend ## run the notebooks and build the documentation into build/docs, offline
	@VENV="$(VENV)" BUILD="$(BUILD)" sh .ci/build-docs

pictures: frontend ## make the pictures of the README and the guides again
	@$(BIN)/python -m tests.tools.screenshots notebooks/pictures
	@$(BIN)/python -m tests.tools.sketch_sheet notebooks/pictures/sketches.jpg
	@$(BIN)/python -m tests.tools.recompose_sheet notebooks/pictures/resizes.jpg

lock: ## make binder/requirements.txt from pyproject.toml (needs uv)
	@sh .ci/lock

clean: ## remove what these targets made, the environment included
	rm -rf $(VENV) $(BUILD) dist src/reelbook/static src/frontend/node_modules .pytest_cache .mypy_cache .ruff_cache .hypothesis .schemathesis
