"""The dialog of `new`, the preview of its tools, and the files in the destination."""
