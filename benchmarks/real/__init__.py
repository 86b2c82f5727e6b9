"""Real tables that Python packages ship, beside what scikit-learn does with them."""
