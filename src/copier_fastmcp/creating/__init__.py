"""What `new` asks and shows, and how its files come to their place."""
