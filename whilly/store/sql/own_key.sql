-- The control plane's own secret $1: the one that there is, else $2. No row when another process stores one just now.
with made as (
    insert into own_keys (name, secret) values ($1, $2) on conflict (name) do nothing returning secret
)
select secret from own_keys where name = $1
union all
select secret from made
limit 1
