"""Coverage: how often intervals hold the truth they claim to hold."""
