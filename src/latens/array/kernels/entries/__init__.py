"""Yes/no entries and counts, one by one: averages over linear predictors that are normal, and deviances."""
