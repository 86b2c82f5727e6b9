"""What latens is measured against: the algorithms as their source prints them, errors put right, and other packages."""
