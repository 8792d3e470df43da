"""What the bodies of functions do, read from their source."""
