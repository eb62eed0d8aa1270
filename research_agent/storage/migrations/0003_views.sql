-- The views that answer questions directly. Inputs are named as in the tables.

create view research.run_summary as
select r.thread_id, r.topic, r.edition,
       case when r.finished_at is not null then 'finished'
            when l.expires_at > now() then 'running'
            when r.waiting_for is not null then 'waiting'
            else 'interrupted' end as status,
       r.outcome, r.stop_reason, r.provider_name, r.request_model,
       (select coalesce(max(x.start), 0) from research.starts x where x.thread_id = r.thread_id) as starts,
       s.steps,
       (select count(*) from research.citations c where c.thread_id = r.thread_id) as sources,
       k.sentences, k.dropped,
       m.model_calls,
       (select count(*) from research.tool_calls t where t.thread_id = r.thread_id) as tool_calls,
       m.input_tokens, m.output_tokens, m.cost_usd, s.seconds,
       r.created_at as started_at, r.finished_at as ended_at,
       r.forked_from, r.forked_at_step, r.pruned_at
from research.runs r
left join research.leases l using (thread_id)
cross join lateral (
    select count(*) as steps, coalesce(round(max(seconds)::numeric, 2), 0) as seconds
    from research.steps s where s.thread_id = r.thread_id) s
cross join lateral (
    select count(*) filter (where verdict = 'supported') as sentences,
           count(*) filter (where verdict <> 'supported') as dropped
    from research.claims k where k.thread_id = r.thread_id) k
cross join lateral (
    select count(*) as model_calls, coalesce(sum(input_tokens), 0) as input_tokens,
           coalesce(sum(output_tokens), 0) as output_tokens, coalesce(sum(cost_usd), 0) as cost_usd
    from research.model_calls m where m.thread_id = r.thread_id) m;

-- Run by run, so that a condition on the run reaches the tables however it is written: a window function over the whole
-- table lets only a constant thread_id through, and a join to research.runs would number the lines of every run.
create view research.trace as
select r.thread_id, t.*
from research.runs r
cross join lateral (
    select m.step,
           row_number() over (order by m.step, array_position(array['reason', 'write', 'repair', 'judge'], m.purpose),
                              m.attempt, c.number) as line,
           m.purpose, m.attempt, s.start,
           case when coalesce(c.number, 1) = 1 then nullif(research.message_text(m.response), '') end as thought,
           c.call ->> 'name' as tool_name,
           c.call -> 'args' as tool_call_arguments,
           case when m.error is not null then 'error' when c.call is null then 'success'
                else coalesce(t.status, 'open') end as status,
           coalesce(m.error, t.tool_call_result) as observation,
           (select count(*) from research.citations n
            where n.thread_id = t.thread_id and n.first_step = t.step and n.tool_call_id = t.tool_call_id
              and n.read_thread_id = t.thread_id) as new_sources,
           case when coalesce(c.number, 1) = 1 then m.latency_ms end as model_latency_ms,
           t.latency_ms as tool_latency_ms,
           case when coalesce(c.number, 1) = 1 then m.input_tokens end as input_tokens,
           case when coalesce(c.number, 1) = 1 then m.output_tokens end as output_tokens,
           case when coalesce(c.number, 1) = 1 then m.cost_usd end as cost_usd,
           coalesce(t.started_at, m.started_at) as started_at
    from research.model_calls m
    left join research.starts s on s.thread_id = m.thread_id and s.lease_token = m.lease_token
    left join lateral jsonb_array_elements(m.response #> '{data,tool_calls}') with ordinality as c (call, number)
           on m.purpose = 'reason'
    left join research.tool_calls t
           on t.thread_id = m.thread_id and t.step = m.step and t.tool_call_id = c.call ->> 'id'
    where m.thread_id = r.thread_id) t;

create view research.tool_stats as
select tool_name, count(*) as calls, count(distinct thread_id) as runs,
       count(*) filter (where status = 'error') as failed,
       count(content_hash) as pages_read,
       round(avg(latency_ms)) as avg_latency_ms,
       percentile_disc(0.5) within group (order by latency_ms) as p50_latency_ms,
       percentile_disc(0.95) within group (order by latency_ms) as p95_latency_ms,
       max(latency_ms) as max_latency_ms
from research.tool_calls
group by tool_name;

create view research.model_stats as
select provider_name, request_model, count(*) as calls, count(distinct thread_id) as runs,
       count(*) filter (where error is not null) as failed,
       sum(input_tokens) as input_tokens, sum(cache_read_input_tokens) as cache_read_input_tokens,
       sum(output_tokens) as output_tokens, sum(reasoning_output_tokens) as reasoning_output_tokens,
       sum(cost_usd) as cost_usd, count(*) filter (where cost_usd is null and error is null) as calls_without_price,
       percentile_disc(0.5) within group (order by latency_ms) as p50_latency_ms,
       percentile_disc(0.95) within group (order by latency_ms) as p95_latency_ms
from research.model_calls
group by provider_name, request_model;

create view research.domain_stats as
with fetches as (
    select domain, status, coalesce(error_type, '') as error_type, count(*) as calls
    from research.tool_calls where domain is not null group by 1, 2, 3),
fetched as (
    select domain, sum(calls) as calls, coalesce(sum(calls) filter (where status = 'success'), 0) as fetched,
           coalesce(sum(calls) filter (where status = 'error'), 0) as failed,
           jsonb_object_agg(error_type, calls) filter (where status = 'error') as failures
    from fetches group by domain),
cited as (
    select c.domain, count(distinct (k.thread_id, c.number)) as cited, count(*) as sentences
    from research.claims k
    cross join lateral unnest(k.sources) as n (number)
    join research.citations c on c.thread_id = k.thread_id and c.number = n.number
    where k.verdict = 'supported' and c.domain is not null
    group by c.domain)
select domain, coalesce(f.calls, 0) as calls, coalesce(f.fetched, 0) as fetched, coalesce(f.failed, 0) as failed, f.failures,
       coalesce(c.cited, 0) as cited, coalesce(c.sentences, 0) as sentences
from fetched f full join cited c using (domain);

create view research.claim_support as
select k.thread_id, k.position, k.bullet, k.text as sentence, k.verdict, k.reason, k.score, k.sources,
       k.quote_source, c.title, c.url, c.domain, k.quote,
       substr(p.text, k.quote_start + 1, k.quote_end - k.quote_start) = k.quote as quote_holds
from research.claims k
left join research.citations c on c.thread_id = k.thread_id and c.number = k.quote_source
left join research.pages p on p.content_hash = c.content_hash;

create view research.source_origin as
select c.thread_id, c.number, c.title, c.url, c.domain, c.first_step as read_step,
       f.lead_step as found_step, q.tool_name as found_by,
       q.tool_call_arguments ->> 'query' as search_query,
       q.tool_call_arguments ->> 'url' as linked_from,
       f.lead_rank as rank,
       h.hit ->> 'source' as search_provider,
       h.hit ->> 'title' as result_title,
       h.hit ->> 'snippet' as result_snippet,
       c.read_thread_id,
       (select count(*) from research.claims k
        where k.thread_id = c.thread_id and k.verdict = 'supported' and c.number = any(k.sources)) as sentences
from research.citations c
left join research.tool_calls f
       on f.thread_id = c.read_thread_id and f.step = c.first_step and f.tool_call_id = c.tool_call_id
left join research.tool_calls q
       on q.thread_id = f.lead_thread_id and q.step = f.lead_step and q.tool_call_id = f.lead_call_id
-- offset 0: the artifact is large, and without it is unpacked once for each column that looks into it.
left join lateral (select q.artifact -> 'hits' -> (f.lead_rank - 1) as hit offset 0) h on true;

create view research.failures as
select thread_id, step, 'model' as kind, purpose as name, attempt, null as domain, error_type, error as message, started_at as failed_at
from research.model_calls where error is not null
union all
select thread_id, step, 'tool', tool_name, null, domain, error_type, tool_call_result, started_at
from research.tool_calls where status = 'error'
union all
select thread_id, null, 'run', 'outcome', null, null, stop_reason, 'the run ended as failed', finished_at
from research.runs where outcome = 'failed';

create view research.slowest_steps as
with thinking as (
    select thread_id, step, purpose <> 'reason' as writing, sum(latency_ms) as ms, count(*) as calls
    from research.model_calls group by 1, 2, 3),
acting as (
    select thread_id, step, false as writing, max(latency_ms) as ms, count(*) as calls
    from research.tool_calls group by 1, 2)
select thread_id, step, case when writing then 'writing' else 'research' end as phase,
       m.ms + coalesce(t.ms, 0) as latency_ms, m.ms as model_latency_ms, coalesce(t.ms, 0) as tool_latency_ms,
       m.calls as model_calls, coalesce(t.calls, 0) as tool_calls
from thinking m left join acting t using (thread_id, step, writing)
order by 4 desc, 1, 2, 3;

create view research.spending as
select (started_at at time zone 'UTC')::date as day, provider_name, request_model,
       count(distinct thread_id) as runs, count(*) as calls, count(*) filter (where error is not null) as failed,
       sum(input_tokens) as input_tokens, sum(output_tokens) as output_tokens,
       coalesce(sum(cost_usd), 0) as cost_usd
from research.model_calls
group by 1, 2, 3;
