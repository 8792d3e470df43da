unprobed = "it is not implemented yet"
