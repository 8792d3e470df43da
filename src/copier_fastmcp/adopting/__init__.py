"""An existing server: a behavior for each of its tools, and what is written next to them."""
