"""Teams of language agents that pay for every word: environments, learners, programs.

    from laconic import envs
    env = envs.make("gsm8k", information="split")

In the repository the parts lie at the top level; the links beside this file give them their one
name, `laconic.<part>`, in a clone as in a wheel.
"""
