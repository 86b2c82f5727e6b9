"""Tables of several views: as they are given, as one wide matrix, and as they are handed back."""
