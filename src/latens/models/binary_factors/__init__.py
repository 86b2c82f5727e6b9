"""Binary factors: rows as sums of causes that are on or off."""
