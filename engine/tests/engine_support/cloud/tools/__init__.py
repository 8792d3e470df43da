"""The tools of the cloud server."""
