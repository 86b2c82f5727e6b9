"""Files, clusters, kills: what holds however large the data are and whatever dies."""
