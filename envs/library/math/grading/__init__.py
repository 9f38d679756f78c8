"""Comparison of a mathematical answer with a reference answer, both written in LaTeX.

`boxed` finds the answer in a message and `latex` tidies it. `structure` and `compare` split tuples,
sets, intervals and matrices; `quantity` reads numbers, units and words. `verify` compares the other
expressions with math-verify, and `pool` runs it in processes that can be killed. `grade` joins
these steps.
"""
