-- For each of the workers $1: its session, whether it is drained, and which of its attempts shall end.
select u.id, coalesce(w.session, 0) as session, coalesce(w.draining, false) as draining,
    coalesce(array_agg(t.plan_id) filter (where t.id is not null), '{}') as plans,
    coalesce(array_agg(t.id) filter (where t.id is not null), '{}') as tasks,
    coalesce(array_agg(t.epoch) filter (where t.id is not null), '{}') as epochs
from unnest($1::text[]) as u (id)
left join workers w on w.id = u.id
left join tasks t on t.worker_id = u.id and t.cancel_requested and t.claim_id is not null
group by u.id, w.session, w.draining
