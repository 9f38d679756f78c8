"""One module per benchmark; each has a `BENCHMARK` and is found by its file name."""
