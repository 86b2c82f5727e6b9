"""The estimator of factors behind several tables: tables in, one wide table, answers by view."""
