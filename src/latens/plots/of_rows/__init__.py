"""Pictures of the data: rows by their hidden values, what is missing, how far predictions can be trusted."""
