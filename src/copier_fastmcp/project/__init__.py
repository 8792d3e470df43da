"""A generated project as the verbs handle it: answers, files, lock, its git and Copier."""
