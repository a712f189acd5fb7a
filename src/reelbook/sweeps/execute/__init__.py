"""Running a plan: order, budget, rate and progress."""
