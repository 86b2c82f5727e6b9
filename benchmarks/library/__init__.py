"""What holds for the library as a whole: imports, the bound, a fit of many rows."""
