"""The words that generated abstracts are made of: invented studies with invented names and figures.

In a sentence, `[with|without]` holds words with a connective, and those of a plainer draft.
"""

from __future__ import annotations

TASKS = (
    *("finding errors in long tables", "sorting letters by their subject"),
    *("joining records of one person", "naming plants in field photographs"),
    *("forecasting the load of small grids", "reading dates in old registers"),
    *("tracking boats in harbour video", "matching questions with manuals"),
    *("counting cells in blurred slides", "splitting speech by its speaker"),
    *("ranking replies to complaints", "mapping snow from weather radar"),
    *("checking claims about medicines", "aligning songs with their scores"),
    *("detecting leaks in water pipes", "translating notes on maps"),
)
SOURCES = (
    *("archives", "diaries", "forms", "invoices", "logbooks", "measurements", "messages"),
    *("protocols", "recordings", "reports", "scans", "sketches", "surveys", "transcripts"),
)
USERS = (
    *("hospitals", "libraries", "insurers", "farmers", "museums", "rescue teams", "city planners"),
    *("teachers", "courts", "shipping companies", "power stations", "relief workers"),
)
WEAKNESSES = (
    ("need thousands of labelled examples", "labels are given by hand"),
    ("forget what they learned before", "their weights are shared by all seasons"),
    ("break down on rare cases", "rare cases hardly count in training"),
    ("take hours for one answer", "they compare everything with everything"),
    ("cannot explain their output", "their features have no names"),
    ("depend on a single language", "their dictionaries are built in"),
    ("are misled by noise", "they weigh every input alike"),
    ("require a constant network", "they are too large for a device"),
)
"""Weaknesses of earlier systems, with reasons."""
RIVALS = (
    *("deep ensemble", "large transformer", "kernel machine", "nearest neighbour search"),
    *("recurrent network", "rule grammar", "graph network", "random forest", "hidden Markov chain"),
)
KINDS = (
    *("sparse encoder", "two-stage filter", "modular network", "tree of small experts"),
    *("memory of prototypes", "linear attention model", "layered hash", "gated mixture"),
)
IDEAS = (
    *("learns from its own corrections", "shares its weights over time", "asks for few labels"),
    *("keeps only what surprises it", "reads every input at two scales", "drops idle parts"),
    *("grows with the difficulty of a case", "stores rare cases apart", "votes among cheap views"),
)
STEPS = (
    ("cuts them into overlapping pieces", "scores every piece with a cheap rule"),
    ("groups them by their layout", "picks one leader for every group"),
    ("turns them into short codes", "looks up the nearest known codes"),
    ("removes what is said twice", "links the rest by common names"),
    ("orders them by their age", "carries a summary from each to the next"),
    ("marks doubtful passages", "spends its effort on those passages"),
)
"""The first and second thing a method does."""
FIRST_SOUNDS = tuple("Al Bren Cor Del Fen Gal Hol Jun Kel Lor Mar Nor Or Pel Quin Ros".split())
LAST_SOUNDS = tuple("bex dan fit gram kit lane mix net phos rix son tide vane wick".split())
DATA = tuple("Arvo Birk Castel Dorn Elbe Fjord Garda Humber Isar Jura Kemi Loire".split())
LIMITS = (
    *("needs a clean start", "slows down on very long inputs", "guesses where inputs are missing"),
    *("has to be tuned by an expert", "overlooks handwritten remarks", "mixes up similar names"),
)

ABSTRACT = (
    "{Task} matters to {users}, who collect {sources} every day.",
    "Existing systems {weakness}, because {cause}.",
    "We present {name}, a {kind} that {idea}.",
    "It reads the {sources}, {step} and {other_step}.",
    "On {data} it is {gain} points more accurate than a {rival}, and on {other_data} it is as"
    " accurate and {speed} times as fast.",
    "{name} still {limit}, which we discuss together with what it means for {users}.",
)
BACKGROUND = (
    "{Task} has become important to {users}, who collect more {sources} every day than anybody can"
    " read.",
    "[For example, a|A] single error may go unseen for years.",
    "Existing systems for {task} {weakness}, because {cause}.",
    "[Therefore they|They] fail when {sources} change over time, and people no longer trust the"
    " result.",
    "Earlier studies proposed a {rival} for {task}, [but it|which] takes many machines to train.",
    "[Although a|A] {rival} is accurate on {data}[,|, and] {users} cannot afford it in practice.",
    "[In addition, small|Small] groups lack the machines that an accurate system needs.",
    "This gap between accurate and affordable systems is the motivation of our work.",
    "We ask whether a {kind} that {idea} can close the gap.",
    "[In short, we|We] want a system that is accurate, affordable and worth the trust of {users}.",
)
"""Background and motivation."""
HISTORY = (
    "The history of the subject goes back to printed catalogues, whose authors compared entries by"
    " eye and wrote remarks into the margin.",
    "With the first computers came keyword lists, statistical tests and later learned features,"
    " each of them hailed as a final answer and each of them soon replaced.",
)
"""Sentences that a background may omit."""
METHOD = (
    "We present {name}, a {kind} that {idea}, as an accurate and affordable system for {task}.",
    "[First, {name}|{name}] reads the {sources} and {step}.",
    "[Second, it|It] {other_step}, [so that|and] small groups can train it on the machines they"
    " have.",
    "[Finally, it|It] reports the result to {users}, and how far they can trust it.",
    "Existing systems {weakness}, [whereas|and] {name} does better, because it {idea}.",
    "We compare {name} with a {rival} on {data} and on {other_data}.",
    "On {data} it is {gain} points more accurate than the {rival}, and on {other_data} it is as"
    " accurate and {speed} times as fast.",
    "[In fact, a|A] single machine can train {name} within {hours} hours, [while|and] the {rival}"
    " takes many machines and days.",
    "[When we leave out|Without] the second step, the gain on {data} is lost, which shows where it"
    " comes from.",
    "[However, {name}|{name}] still {limit}, [for instance where|where] the {sources} change over"
    " time.",
    "[If the result holds in practice|In practice], {users} can afford {task} every day.",
    "[Overall, the|The] gap between accurate and affordable systems for {task} becomes smaller, and"
    " small groups are no longer left out.",
)
"""Method and implications."""
