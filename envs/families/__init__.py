"""What benchmarks are made of: generators and graders, one folder a family."""
