"""The package of a server whose tools work with an account of their user, written by hand as an author would."""
