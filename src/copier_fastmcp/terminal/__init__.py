"""Questions to people in a terminal, and tables for them."""
