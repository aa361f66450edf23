-- Books what an attempt turned out to cost ($4) that had been given up before its report came; gives the difference.
with late as (
    update attempts a
    set cost_micros = $4, counted_micros = $4, input_tokens = $5, output_tokens = $6, cache_read_tokens = $7,
        cache_write_tokens = $8
    from (
        select counted_micros from attempts
        where plan_id = $1 and task_id = $2 and epoch = $3 and ended_at is not null and cost_micros is null
        for update
    ) b
    where a.plan_id = $1 and a.task_id = $2 and a.epoch = $3
    returning $4 - b.counted_micros as difference
)
select difference from late
