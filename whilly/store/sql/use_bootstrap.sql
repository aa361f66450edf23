-- Uses the bootstrap token $1 once more; no row when it is revoked, too old, or was used as often as it may be.
update tokens set uses = uses + 1, last_used_at = clock_timestamp()
where id = $1 and kind = 'bootstrap' and revoked_at is null and expires_at > clock_timestamp() and uses < uses_allowed
returning plan_id, label, uses, uses_allowed
