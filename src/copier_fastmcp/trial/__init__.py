"""`try`: the reads of a server's API called a few times, and compared with what its answers say."""
