"""Programs in replies, programs to be written, and the benchmarks whose answers are programs."""
