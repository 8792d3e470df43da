"""A release of the template brought to checkouts, and what guards what is in them."""
