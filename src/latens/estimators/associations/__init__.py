"""What tests of components against columns and sets that were not part of the fit are made of."""
