"""Build and run a session of a program: settings, environments, learner, evaluation, rules."""
