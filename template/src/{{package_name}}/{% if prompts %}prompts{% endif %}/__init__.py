"""Your prompts: one file each; files beginning with _ are helpers."""
