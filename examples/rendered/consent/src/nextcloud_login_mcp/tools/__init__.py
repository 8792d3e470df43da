"""Your tools: one file each; a new file is a new tool; files beginning with _ are helpers."""
