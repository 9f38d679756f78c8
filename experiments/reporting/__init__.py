"""The parts of a report: reading runs, words for numbers, pictures and pages."""
