"""What listens to a training: display, warnings, limits, records, and classes of users."""
