"""Read and write the folder that a run leaves."""
