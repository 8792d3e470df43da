"""Updates and other changes made in a worktree, and the guard of every update."""
