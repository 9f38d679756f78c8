"""What two authors write together: how it is measured and graded, and generated pieces to write."""
