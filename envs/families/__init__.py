"""Parts of benchmarks: generators and graders, one folder per family."""
