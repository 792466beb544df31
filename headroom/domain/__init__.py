"""The idea itself: values and pure functions, standard library only."""
