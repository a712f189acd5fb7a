"""Plans: the runs of a sweep, checked and priced before anything is sent."""
