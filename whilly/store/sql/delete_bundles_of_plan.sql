-- Removes all bundles of plan $1: its results are to be made anew.
delete from bundles where plan_id = $1
