"""A server that was there before: a behavior for each of its tools, and what is written beside them."""
