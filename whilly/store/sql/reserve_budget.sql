-- Reserves $2 micro-dollars more in plan $1.
update plans set reserved_micros = reserved_micros + $2 where id = $1
