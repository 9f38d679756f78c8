"""Whether a mathematical answer equals a reference answer, both written in LaTeX.

`boxed` finds the answer in a message, `latex` tidies it, `structure` and `compare` take tuples,
sets, intervals and matrices apart, `quantity` reads numbers, units and words, `verify` asks
math-verify about what is left, and `pool` does that in processes that can be killed. `grade` joins
them.
"""
