-- How many tasks could be claimed now, as far as their prerequisites go; counted up to 10,000.
select count(*) as depth from (select from tasks where status = 'PENDING' and unmet = 0 limit 10000) t
