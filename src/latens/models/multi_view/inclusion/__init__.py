"""How probable it is that a loading is there: by draws of everything that is not known, or column by column."""
