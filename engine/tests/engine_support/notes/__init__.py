"""The package of a small server, written by hand as a project's author would: one file for each tool."""
