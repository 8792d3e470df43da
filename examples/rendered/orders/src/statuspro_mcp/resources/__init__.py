"""Your resources: one file each."""
