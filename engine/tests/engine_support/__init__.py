"""Support code of the engine's tests."""
