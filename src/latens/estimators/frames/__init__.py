"""Raw data frames of mixed columns: as numbers that models take, and back in their own types."""
