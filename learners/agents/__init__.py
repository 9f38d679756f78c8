"""Who speaks: language models, the shipped tiny one, scripts."""
