"""The source of a server, parsed and never run: its files, and the tools that they register."""
