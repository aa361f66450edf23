-- Sets the own budget of task $2 of plan $1 (null: none), also in its description.
with described as (
    update specs set spec = jsonb_set(spec, '{budget}', coalesce(to_jsonb($3::bigint), 'null'))
    where plan_id = $1 and task_id = $2
)
update tasks set budget_micros = $3 where plan_id = $1 and id = $2 returning id
