"""Word problems of one to eight arithmetic steps, made from a seed."""
