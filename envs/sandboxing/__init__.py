"""The parts of `envs.sandbox`, in the order of a program's way through them.

`pool` keeps wardens; `jail` and `guards` say how a program is shut in; a `warden` starts one fresh
interpreter per program, which runs `program_side`, and one for its tests, which runs `judge`. The
two speak over a `link`, in plain values only (`wire`); `forms` decides when more than plain values
must cross, and `handles` are what crosses then.
"""
