"""Tools judged from outside, by their definitions alone."""
