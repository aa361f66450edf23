-- Lets one transaction at a time take files of the repositories $1: a folder and a file in it are different rows.
select pg_advisory_xact_lock(749303712, hashtext(r.repository))
from (select distinct unnest($1::text[]) as repository order by 1) r
