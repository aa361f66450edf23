-- Tells the planner what the tables of a freshly imported plan look like.
analyze tasks, specs, dependencies
