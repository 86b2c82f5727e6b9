"""Pictures of what was found: components, their columns, shares and intervals."""
