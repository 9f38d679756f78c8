# What docs/results/ reports: hours on processor cores; each target goes on where it was. SEEDS are those of the
# trainings. LACONIC_DATA is the folder above the rows of others. Gsm8k has two starts, FROM names one, and takes PRICE;
# gsm8k, its levels, its problems and mathematics take UPDATES.
EVIDENCE ?= outputs/evidence
SEEDS ?= 1 2 3

# Other people's rows are no part of this project.
have-%:
	@test -e $(LACONIC_DATA)/$* || { echo "$(LACONIC_DATA)/$*: no such folder; name the one above it, with files of $*" \
	  "that env.source reads in it (docs/environments/): LACONIC_DATA=<folder above $*/>"; exit 1; }

GSM8K := $(EVIDENCE)/gsm8k
# The start is taught in parts: by a wordy teacher that is hardly ever silent, then by one that is silent more often
# where it has nothing useful, and less often where it has; agent=smollm2 asks for one like the last, START does not.
SILENCES := learner.collect.teacher.silent_informed=0.05 learner.collect.teacher.silent_uninformed=0.25 learner.collect.others=0.2
START := $(BIN)/laconic warm-start agent=smollm2 env.instructions=brief threads=1 train.tasks_per_step=8 \
  train.group_size=2 evaluation.tasks=64 evaluation.batch=64 resume=true $(SILENCES)
evidence-gsm8k-first: .venv/installed smollm2
	$(START) env=gsm8k train.steps=60 seed=0 hydra.run.dir=$(GSM8K)/first
evidence-gsm8k-start: evidence-gsm8k-first
	$(START) env=gsm8k train.steps=60 seed=1 hydra.run.dir=$(GSM8K)/second agent.model=$(GSM8K)/first/policy \
	  learner.collect.teacher.silent_uninformed=0.5 learner.collect.teacher.silent_informed=0.02
	$(START) env=gsm8k train.steps=40 seed=2 hydra.run.dir=$(GSM8K)/start agent.model=$(GSM8K)/second/policy \
	  learner.collect.teacher.silent_uninformed=0.6 learner.collect.teacher.silent_informed=0
# Or in one part as long as the first, by a teacher that tells the two kinds of silence apart.
evidence-gsm8k-apart: .venv/installed smollm2
	$(START) env=gsm8k train.steps=60 seed=0 hydra.run.dir=$(GSM8K)/apart learner.collect.teacher.silent_uninformed=0.6 \
	  learner.collect.teacher.silent_informed=0 learner.collect.others=0.8
GSM8K_FROM = $(or $(FROM),apart)
evidence-gsm8k: evidence-gsm8k-$(GSM8K_FROM)  ## SmolLM2 learns to be laconic on generated gsm8k (docs/results/gsm8k.md)
	for seed in $(SEEDS); do \
	  $(BIN)/laconic train experiment=pretrained env=gsm8k train.steps=$(or $(UPDATES),30) evaluation.tasks=200 \
	    learner.microbatch_tokens=2048 agent.model=$(GSM8K)/$(GSM8K_FROM)/policy seed=$$seed resume=true \
	    $(if $(PRICE),env.reward.price=$(PRICE) env.reward.normalizer=50) hydra.run.dir=$(GSM8K)/from_$(GSM8K_FROM)$(if $(PRICE),_at_$(PRICE))/$$seed || exit 1; \
	done

SPORTS := $(EVIDENCE)/sports
SPORTS_ROOM := env.budget.message=64 env.budget.episode=256 agent.sampling.max_reply_tokens=65
ROOM := $(SPORTS_ROOM) learner.microbatch_tokens=4096
# As above; a tenth of the teacher's answers are bare, and the later parts imitate more of the scouts.
ONCE := train.tasks_per_step=16 train.group_size=1
evidence-sports: .venv/installed smollm2  ## SmolLM2 learns to be laconic on Sports Understanding (docs/results/controls.md)
	$(START) env=sports $(ROOM) train.steps=45 learner.decay_updates=90 seed=0 hydra.run.dir=$(SPORTS)/first \
	  learner.collect.teacher.bare=0.1 learner.collect.teacher.silent_uninformed=0.6 learner.collect.teacher.silent_informed=0.02
	$(START) env=sports $(ROOM) train.steps=40 seed=1 hydra.run.dir=$(SPORTS)/second agent.model=$(SPORTS)/first/policy \
	  learner.collect.teacher.bare=0.1 learner.collect.teacher.silent_uninformed=0.6 learner.collect.teacher.silent_informed=0 \
	  learner.collect.others=0.8
	$(START) env=sports $(ROOM) train.steps=60 seed=2 hydra.run.dir=$(SPORTS)/start agent.model=$(SPORTS)/second/policy \
	  learner.collect.teacher.bare=0.1 learner.collect.teacher.silent_uninformed=0.6 learner.collect.teacher.silent_informed=0 \
	  learner.collect.others=1
	for seed in $(SEEDS); do \
	  $(BIN)/laconic train experiment=pretrained env=sports $(ROOM) agent.model=$(SPORTS)/start/policy seed=$$seed \
	    resume=true hydra.run.dir=$(SPORTS)/$$seed || exit 1; \
	done

MATH := $(EVIDENCE)/math
comma := ,
TWO := env=math 'env.generator.subjects=[algebra$(comma)geometry]'
# As above; three answers of ten calculate at once.
evidence-math-start: .venv/installed smollm2
	$(START) $(TWO) env.tasks=100000 learner.microbatch_tokens=2048 train.steps=12 learner.decay_updates=70 seed=0 \
	  hydra.run.dir=$(MATH)/first learner.collect.teacher.calculated=0.3 learner.collect.teacher.silent_uninformed=0.6 \
	  learner.collect.teacher.silent_informed=0 learner.collect.others=0.8
	$(START) $(TWO) env.tasks=100000 learner.microbatch_tokens=2048 train.steps=30 learner.decay_updates=50 seed=1 \
	  hydra.run.dir=$(MATH)/start agent.model=$(MATH)/first/policy learner.collect.teacher.calculated=0.3 \
	  learner.collect.teacher.silent_uninformed=0.6 learner.collect.teacher.silent_informed=0 learner.collect.others=0.5
evidence-math: evidence-math-start  ## SmolLM2 learns to be laconic on generated math (docs/results/controls.md)
	for seed in $(SEEDS); do \
	  $(BIN)/laconic train experiment=pretrained $(TWO) env.tasks=20000 learner.microbatch_tokens=4096 train.steps=$(or $(UPDATES),60) \
	    agent.model=$(MATH)/start/policy seed=$$seed resume=true hydra.run.dir=$(MATH)/$$seed || exit 1; \
	done

HARDER := $(EVIDENCE)/gsm8k_harder
HARDER_ROOM := env.budget.message=96 env.budget.episode=384 agent.sampling.max_reply_tokens=97
WIDE := $(HARDER_ROOM) learner.microbatch_tokens=2048
# A teacher that is silent in nine of ten turns with nothing useful, and never with something.
DISCREET := $(ONCE) optimizer.lr=2e-4 learner.collect.teacher.silent_uninformed=0.9 learner.collect.teacher.silent_informed=0
# Level 2 alone at first, then all three, then silence. A team that solves little unlearns silence from a start that hardly
# knows it.
evidence-harder-start: .venv/installed smollm2
	$(START) env=gsm8k env.generator.level=2 $(WIDE) train.steps=240 optimizer.lr=3e-4 seed=0 hydra.run.dir=$(HARDER)/first \
	  learner.collect.teacher.calculated=0.1 learner.collect.teacher.terse=0.3 learner.collect.teacher.silent_uninformed=0.6 \
	  learner.collect.teacher.silent_informed=0 learner.collect.others=0.25
	$(START) env=gsm8k 'env.generator.level=[1,3]' $(WIDE) train.steps=100 optimizer.lr=2e-4 seed=1 hydra.run.dir=$(HARDER)/start \
	  agent.model=$(HARDER)/first/policy learner.collect.teacher.calculated=0.3 learner.collect.teacher.terse=0.3 \
	  learner.collect.teacher.silent_uninformed=0.6 learner.collect.teacher.silent_informed=0 learner.collect.others=0.5
	$(START) env=gsm8k 'env.generator.level=[1,3]' $(WIDE) $(DISCREET) learner.collect.others=1 train.steps=40 seed=2 \
	  hydra.run.dir=$(HARDER)/silence agent.model=$(HARDER)/start/policy learner.collect.teacher.calculated=0.1 \
	  learner.collect.teacher.terse=0.1
evidence-harder: evidence-harder-start  ## SmolLM2 under a price on gsm8k's levels 1 to 3 (docs/results/controls.md)
	for seed in $(SEEDS); do \
	  $(BIN)/laconic train experiment=pretrained env=gsm8k 'env.generator.level=[1,3]' $(WIDE) train.steps=$(or $(UPDATES),45) \
	    agent.sampling.temperature=0.5 env.reward.when=solved learner/price=fixed \
	    agent.model=$(HARDER)/silence/policy seed=$$seed resume=true hydra.run.dir=$(HARDER)/from_silence/$$seed || exit 1; \
	done

evidence-harder-default: evidence-harder-start  ## SmolLM2 at the default price on gsm8k's levels 1 to 3 (docs/results/gsm8k.md)
	for seed in $(or $(SEEDS),0 1 2); do \
	  $(BIN)/laconic train experiment=pretrained env=gsm8k 'env.generator.level=[1,3]' $(WIDE) train.steps=$(or $(UPDATES),30) \
	    agent.sampling.temperature=0.5 learner.minibatches=2 evaluation.tasks=200 \
	    agent.model=$(HARDER)/start/policy seed=$$seed resume=true hydra.run.dir=$(HARDER)/default/$$seed || exit 1; \
	done

# Rows of others, from the start of evidence-harder that knows silence.
ROWS_ROOM := env.budget.message=128 env.budget.episode=512 agent.sampling.max_reply_tokens=129
LONG := $(ROWS_ROOM) learner.microbatch_tokens=2048
STRATEGYQA := $(EVIDENCE)/strategyqa
FACTS = env=strategyqa env.source=$(LACONIC_DATA)/strategyqa env.holdout=0.3 env.reader.facts=true
evidence-strategyqa: have-strategyqa evidence-harder-start  ## SmolLM2 on real rows of StrategyQA (docs/results/controls.md)
	$(START) $(FACTS) $(LONG) $(DISCREET) train.steps=50 seed=0 hydra.run.dir=$(STRATEGYQA)/second agent.model=$(HARDER)/silence/policy
	$(START) $(FACTS) $(LONG) $(DISCREET) train.steps=12 optimizer.lr=1e-4 seed=1 hydra.run.dir=$(STRATEGYQA)/bare \
	  agent.model=$(STRATEGYQA)/second/policy learner.collect.teacher.bare=0.25
	for seed in $(SEEDS); do \
	  $(BIN)/laconic train experiment=pretrained $(FACTS) $(LONG) agent.sampling.temperature=0.5 env.reward.when=solved learner/price=fixed train.steps=25 \
	    agent.model=$(STRATEGYQA)/bare/policy seed=$$seed resume=true hydra.run.dir=$(STRATEGYQA)/$$seed || exit 1; \
	done

GSM8K_ROWS := $(EVIDENCE)/gsm8k_rows
PROBLEMS = env=gsm8k env.source=$(LACONIC_DATA)/gsm8k
evidence-gsm8k-rows: have-gsm8k evidence-harder-start  ## SmolLM2 on GSM8K's own problems (docs/results/controls.md)
	$(START) $(PROBLEMS) $(LONG) $(DISCREET) train.steps=40 seed=0 hydra.run.dir=$(GSM8K_ROWS)/start \
	  agent.model=$(HARDER)/silence/policy learner.collect.others=0.5
	for seed in $(SEEDS); do \
	  $(BIN)/laconic train experiment=pretrained $(PROBLEMS) $(LONG) agent.sampling.temperature=0.5 env.reward.when=solved learner/price=fixed \
	    train.steps=$(or $(UPDATES),10) agent.model=$(GSM8K_ROWS)/start/policy seed=$$seed resume=true hydra.run.dir=$(GSM8K_ROWS)/$$seed || exit 1; \
	done

# Trained teams (those of SEEDS, and by name of ALSO="name: <run>, ...") at the tokens of the first of them, beside their
# start, the same under a cap and without what each agent but the solver says, and beside one agent that reads everything, a
# vote and a debate of these, or other ENTRIES: a policy that was taught all FORMS from the same start.
FORMS ?= team,alone,alone,debate
ENTRIES ?= single,self_consistency,debate,team
COMPARED = $(firstword $(SEEDS:%=seed_%) $(subst :, ,$(ALSO)))
# $(call controls,<world>,<room>,<start>,<folder of the trained>,<role that is left out>,<settings of the lessons>)
define controls
	$(START) $(1) agent.model=$(3)/policy 'train.layouts=[$(FORMS)]' learner.collect.teacher.silent_uninformed=0.6 \
	  learner.collect.teacher.silent_informed=0 seed=3 $(6) hydra.run.dir=$(4)/forms
	runs='$(strip $(foreach seed,$(SEEDS),seed_$(seed): $(4)/$(seed)$(comma)) $(ALSO))'; \
	$(BIN)/laconic compare $(1) $(2) agent=smollm2 env.instructions=brief agent.model=$(4)/forms/policy \
	  'entry=[$(ENTRIES)]' "compare.runs={$${runs%,}}" compare.reference=$(COMPARED) \
	  compare.alone=start '+entries.start={layout: team, agent: {model: $(3)/policy}}' \
	  '+entries.capped={layout: team, agent: {model: $(3)/policy}, env: {budget: {episode: matched}}}' \
	  $(foreach left,$(5:%=%_0) $(5:%=%_1) $(5:%=%_2),\
	    '+entries.without_$(left)={layout: team$(comma) agent: {model: $(3)/policy}$(comma) silenced: [$(left)]}') \
	  evaluation.tasks=200 evaluation.batch=64 threads=1 resume=true hydra.run.dir=$(4)/controls_$(COMPARED)
endef
NARROW := env.budget.message=48 env.budget.episode=192
evidence-gsm8k-controls: evidence-gsm8k  ## those teams beside one agent, a vote, a debate, a cap (docs/results/controls.md)
	$(call controls,env=gsm8k,$(NARROW),$(GSM8K)/$(GSM8K_FROM),$(GSM8K)/from_$(GSM8K_FROM),helper,train.steps=60)
evidence-sports-controls: evidence-sports  ## the same on Sports Understanding
	$(call controls,env=sports,$(SPORTS_ROOM),$(SPORTS)/start,$(SPORTS),scout,$(ROOM) $(ONCE) \
	  train.steps=40 learner.collect.teacher.bare=0.1 learner.collect.others=1)
evidence-math-controls: evidence-math  ## the same on mathematics
	$(call controls,$(TWO),env.tasks=20000 $(NARROW),$(MATH)/start,$(MATH),helper,env.tasks=100000 train.steps=60 \
	  learner.microbatch_tokens=2048 learner.collect.teacher.calculated=0.3 learner.collect.others=0.8)
evidence-harder-controls: evidence-harder  ## the same on gsm8k's levels 1 to 3
	$(call controls,env=gsm8k 'env.generator.level=[1$(comma)3]',$(HARDER_ROOM),$(HARDER)/silence,$(HARDER)/from_silence,\
	  helper,$(WIDE) $(DISCREET) train.steps=40 learner.collect.others=1 learner.collect.teacher.terse=0.1 learner.collect.teacher.calculated=0.1)
evidence-strategyqa-controls: evidence-strategyqa  ## the same on StrategyQA's rows
	$(call controls,$(FACTS),$(ROWS_ROOM),$(STRATEGYQA)/bare,$(STRATEGYQA),helper,$(LONG) $(DISCREET) train.steps=24 \
	  learner.collect.others=1 learner.collect.teacher.bare=0.25)
evidence-gsm8k-rows-controls: evidence-gsm8k-rows  ## the same on GSM8K's problems
	$(call controls,$(PROBLEMS),$(ROWS_ROOM),$(GSM8K_ROWS)/start,$(GSM8K_ROWS),helper,$(LONG) $(DISCREET) train.steps=24 \
	  learner.collect.others=0.5)

COOP := $(EVIDENCE)/coop
TLDR := $(EVIDENCE)/tldr
# MAGRPO with an adapter for each agent.
ADAPTERS := agent=smollm2 agent.sharing=lora learner.microbatch_tokens=4096 threads=1 resume=true
evidence-coop: .venv/installed smollm2  ## SmolLM2 learns to write programs in twos (docs/results/two_authors.md)
	$(BIN)/laconic warm-start env=coop_humaneval $(ADAPTERS) optimizer.lr=1e-3 learner.decay=cosine train.steps=40 \
	  $(ONCE) learner.collect.teacher.best=0.6 evaluation.tasks=64 evaluation.batch=64 seed=0 hydra.run.dir=$(COOP)/start
	for seed in $(SEEDS); do \
	  $(BIN)/laconic train env=coop_humaneval learner=magrpo $(ADAPTERS) optimizer.lr=5e-5 agent.sampling.temperature=0.5 \
	    learner.balance_silence=false agent.model=$(COOP)/start/policy train.steps=45 train.tasks_per_step=4 evaluation.tasks=64 \
	    evaluation.batch=64 seed=$$seed hydra.run.dir=$(COOP)/$$seed || exit 1; \
	done

evidence-tldr: have-tldr .venv/installed smollm2  ## SmolLM2 learns to summarise real posts in twos (docs/results/two_authors.md)
	for seed in $(SEEDS); do \
	  $(BIN)/laconic train env=tldr env.source=$(LACONIC_DATA)/tldr env.holdout=0.4 learner=magrpo $(ADAPTERS) optimizer.lr=1e-3 learner.balance_silence=false \
	    train.steps=9 train.tasks_per_step=3 evaluation.tasks=8 seed=$$seed hydra.run.dir=$(TLDR)/$$seed || exit 1; \
	done

# The first start and seeds.
evidence-coop-first: .venv/installed smollm2  ## the first teams of two that write programs (docs/results/two_authors.md)
	$(BIN)/laconic warm-start env=coop_humaneval $(ADAPTERS) optimizer.lr=1e-3 learner.decay=cosine train.steps=30 \
	  train.tasks_per_step=8 learner.collect.teacher.best=0.1 evaluation.tasks=16 seed=0 hydra.run.dir=$(COOP)/first/start
	for seed in $(SEEDS); do \
	  $(BIN)/laconic train env=coop_humaneval learner=magrpo $(ADAPTERS) optimizer.lr=1e-3 learner.balance_silence=false \
	    agent.model=$(COOP)/first/start/policy train.steps=10 train.tasks_per_step=4 evaluation.tasks=8 seed=$$seed \
	    hydra.run.dir=$(COOP)/first/$$seed || exit 1; \
	done

# Scripted teams plan on grids of two sizes.
SCHEMES := $(EVIDENCE)/boxnet
evidence-boxnet: .venv/installed  ## scripted teams plan by four schemes (docs/environments/boxnet.md)
	for script in oracle verbose; do for size in 2 4; do \
	  $(BIN)/laconic compare env=boxnet env.rows=$$size env.columns=$$size 'entry=[team,cmas,dmas,hmas1,hmas2]' agent=scripted \
	    agent.script=$$script evaluation.tasks=100 threads=1 resume=true hydra.run.dir=$(SCHEMES)/$${script}_$$size || exit 1; \
	done; done

# The shipped policy behind gates: a script without and with noise, and one that learns from the worth of its messages.
GATES := $(EVIDENCE)/gate
evidence-gate: SEEDS := 0 1 2
evidence-gate: .venv/installed  ## the shipped policy behind a gate, scripted or learned (docs/gate.md)
	for gate in "none agent=tiny" "informed agent=gated"; do \
	  $(BIN)/laconic evaluate $${gate#* } evaluation.tasks=300 threads=1 resume=true hydra.run.dir=$(GATES)/$${gate%% *} || exit 1; \
	done
	for seed in $(SEEDS); do \
	  $(BIN)/laconic evaluate agent=gated agent.gate.speak_informed=0.9 agent.gate.speak_uninformed=0.1 evaluation.tasks=300 threads=1 \
	    seed=$$seed resume=true hydra.run.dir=$(GATES)/noise_$$seed || exit 1; \
	  $(BIN)/laconic train agent=gate experiment=credit learner.credit=silence train.steps=15 train.evaluate_every=null \
	    evaluation.tasks=300 seed=$$seed report=false resume=true hydra.run.dir=$(GATES)/learned_$$seed || exit 1; \
	done

# A start that addresses its messages, and trainings that pay for each listener.
ADDRESSES := $(EVIDENCE)/addressing
ADDRESSED := env.addressing=names env.topology=complete threads=1 resume=true
evidence-addressing: SEEDS := 0 1 2
evidence-addressing: .venv/installed  ## teams that pay for each listener (docs/addressing.md)
	$(BIN)/laconic warm-start agent=tiny $(ADDRESSED) train.steps=600 learner.collect.teacher.silent_uninformed=0.6 \
	  learner.collect.teacher.silent_informed=0 hydra.run.dir=$(ADDRESSES)/start
	for seed in $(SEEDS); do \
	  $(BIN)/laconic train $(ADDRESSED) env.reward.charge=listeners agent.model=$(ADDRESSES)/start/policy seed=$$seed \
	    hydra.run.dir=$(ADDRESSES)/seed_$$seed || exit 1; \
	done

# One solver at three caps, and votes of several that hear the same helpers; `laconic predict $(VOTES)` compares them.
VOTES := $(EVIDENCE)/votes
PLAYED := env.topology=complete env.budget.episode=null evaluation.greedy=false evaluation.tasks=200 threads=1 resume=true
evidence-votes: .venv/installed  ## votes of the shipped policy, to be predicted (docs/synergy.md)
	for cap in 32 40 48; do \
	  $(BIN)/laconic evaluate $(PLAYED) evaluation.samples=3 env.budget.message=$$cap hydra.run.dir=$(VOTES)/one_$$cap || exit 1; \
	done
	for cap in 32 48; do for solvers in 3 5; do \
	  $(BIN)/laconic evaluate $(PLAYED) env.budget.message=$$cap "env.team={solver:$$solvers,helper:3}" \
	    hydra.run.dir=$(VOTES)/team_$${cap}_$$solvers || exit 1; \
	done; done

# Edges learn around the shipped team, which stays as it is.
LINKS := $(EVIDENCE)/topology
evidence-topology: SEEDS := 0 1 2
evidence-topology: .venv/installed  ## learned edges around the shipped team (docs/topologies.md)
	for seed in $(SEEDS); do \
	  $(BIN)/laconic train learner/topology=edges env.topology=complete agent.frozen=true train.group_size=2 train.tasks_per_step=64 \
	    train.steps=40 evaluation.tasks=200 seed=$$seed threads=1 report=false logger=none resume=true hydra.run.dir=$(LINKS)/$$seed || exit 1; \
	done

# Voters are taught alone, all from the same untrained weights, by other demonstrations each; then they learn from their vote.
ELECTED := $(EVIDENCE)/rlccf
VOTER := env=signal '~env.team.helper' report=false logger=none resume=true
evidence-rlccf: SEEDS := 0 1 2
evidence-rlccf: .venv/installed  ## policies that learn from their vote, without labels (docs/rlccf.md)
	for start in "strong 150" "weak 60"; do set -- $$start; \
	  for voter in 0 1 2; do \
	    $(BIN)/laconic warm-start $(VOTER) env.rounds=1 env.information=full env.schedule=all threads=1 agent.seed=0 seed=$$voter \
	      agent.model_config.hidden=64 agent.model_config.layers=2 train.steps=$$2 hydra.run.dir=$(ELECTED)/$$1/start_$$voter || exit 1; \
	    mkdir -p $(ELECTED)/$$1/start/solver_$$voter; \
	    cp $(ELECTED)/$$1/start_$$voter/policy/* $(ELECTED)/$$1/start/solver_$$voter; \
	  done; \
	  for seed in $(SEEDS); do for guard in stop warn; do \
	    $(BIN)/laconic train experiment=rlccf $(VOTER) agent.model=$(ELECTED)/$$1/start env.reward.price=0 train.steps=30 \
	      train.tasks_per_step=8 evaluation.tasks=300 evaluation.transcripts=300 seed=$$seed learner.collective.guard=$$guard \
	      hydra.run.dir=$(ELECTED)/$$1/$$guard/$$seed || exit 1; \
	  done; done; \
	done

# A pretrained model on the commons; its warm start was stopped after 32 steps.
VILLAGE := $(EVIDENCE)/commons_smollm2
TALKING := env=commons env.talk_rounds=1 env.budget.message=24 threads=1 resume=true
evidence-commons-smollm2: .venv/installed smollm2  ## SmolLM2 on the commons, as it is and after a warm start (docs/environments/commons.md)
	$(BIN)/laconic evaluate $(TALKING) agent=smollm2 evaluation.tasks=1 evaluation.batch=10 hydra.run.dir=$(VILLAGE)/untaught
	$(BIN)/laconic warm-start $(TALKING) agent=smollm2 env.instructions=brief env.months=4 train.tasks_per_step=1 train.steps=60 \
	  evaluation.tasks=1 evaluation.batch=10 learner.collect.teacher.silent_uninformed=0.25 learner.microbatch_tokens=2048 \
	  hydra.run.dir=$(VILLAGE)/start
	$(BIN)/laconic evaluate $(TALKING) agent=smollm2 agent.model=$(VILLAGE)/start/policy env.instructions=brief env.months=12 \
	  evaluation.tasks=5 evaluation.batch=25 evaluation.greedy=false hydra.run.dir=$(VILLAGE)/sampled

# A quarter of an hour of one core with nothing beside it.
evidence-growth: .venv/installed  ## seconds and memory of an update as the work grows (docs/scaling.md)
	$(BIN)/python docs/evidence/growth.py run $(EVIDENCE)/growth
	$(BIN)/python docs/evidence/growth.py collect $(EVIDENCE)/growth
	$(BIN)/python docs/evidence/growth.py tables
	$(BIN)/python docs/evidence/growth.py picture

evidence-tables: .venv/installed  ## write the tables of docs/results/ from the rows in docs/evidence/
	$(BIN)/python docs/evidence/results.py
	$(BIN)/python docs/evidence/starts.py

# What docs/starts.md reports; each goes on where it was.
policies: .venv/installed  ## make the shipped policies again; ENVIRONMENTS="signal math" makes these
	$(BIN)/python docs/evidence/policies.py $(ENVIRONMENTS)
evidence-three-minutes: .venv/installed  ## train each shipped policy for three minutes, three seeds (docs/starts.md)
	$(BIN)/python docs/evidence/three_minutes.py $(ENVIRONMENTS)
evidence-yardstick: .venv/installed  ## compare six teams in every environment (docs/starts.md)
	$(BIN)/python docs/evidence/yardstick.py $(ENVIRONMENTS)

# Half of the episodes that the start imitates ask for brevity; then a comment that is read in hindsight alone.
evidence-hindsight: SEEDS := 0 1 2
evidence-hindsight: .venv/installed  ## a policy that learns from a comment on its replies, without a reward (docs/sdpo.md)
	for run in mean mean_longer messages; do $(BIN)/python docs/evidence/hindsight.py $$run $(SEEDS) || exit 1; done
	$(BIN)/python docs/evidence/hindsight.py none 0
	$(BIN)/python docs/evidence/hindsight.py none_faster $(SEEDS)

evidence-pictures: .venv/installed  ## draw the trainings of docs/results/ from the rows in docs/evidence/
	$(BIN)/python docs/evidence/pictures.py
	$(BIN)/python docs/evidence/scripted.py

# The run of the README.
evidence-recording: .venv/installed  ## record `laconic watch` on the run of the README
	$(BIN)/laconic train resume=true hydra.run.dir=$(EVIDENCE)/quickstart
	$(BIN)/python docs/evidence/recording.py $(EVIDENCE)/quickstart docs/pictures/watch.svg
	$(BIN)/laconic report $(EVIDENCE)/quickstart
	cp $(EVIDENCE)/quickstart/report/silence.png docs/pictures/quickstart_silence.png

evidence-reports: .venv/installed  ## make docs/evidence/reports/ from the rows in docs/evidence/
	$(BIN)/python docs/evidence/reports.py
