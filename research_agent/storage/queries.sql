-- All SQL of the program that is not a migration. Each query has a name and a line that says what for.

-- name: find_runs
-- The newest edition of each thread whose id may belong to a topic.
select distinct on (base_thread_id) thread_id, base_thread_id, edition, topic, limits, outcome, stop_reason, brief,
    pruned_at is not null as pruned
from research.runs where base_thread_id = any(%(candidates)s)
order by base_thread_id, edition desc

-- name: start_run
-- Write the run before its first step, and one more start of it; no row comes back when the ids of topics collide.
with run as (
    insert into research.runs (thread_id, base_thread_id, edition, topic, provider_name, request_model, limits, options, lease_token)
    values (%(thread_id)s, %(base_thread_id)s, %(edition)s, %(topic)s, %(provider_name)s, %(request_model)s, %(limits)s, %(options)s, %(token)s)
    on conflict (thread_id) do update
    set provider_name = excluded.provider_name, request_model = excluded.request_model, limits = excluded.limits,
        options = excluded.options, lease_token = excluded.lease_token
    where runs.topic = excluded.topic
    returning thread_id, created_at),
start as (
    insert into research.starts (thread_id, start, provider_name, request_model, limits, holder, lease_token)
    select thread_id, (select coalesce(max(start), 0) + 1 from research.starts where thread_id = %(thread_id)s),
           %(provider_name)s, %(request_model)s, %(limits)s, (select holder from research.leases where thread_id = %(thread_id)s), %(token)s
    from run)
select created_at, (select coalesce(max(seconds), 0)::float8 from research.steps where thread_id = %(thread_id)s) as seconds
from run

-- name: keep_run
-- Keep a run from being deleted until this transaction ends; no row comes back when there is none.
select thread_id from research.runs where thread_id = %(thread_id)s for key share

-- name: fork_run
-- Write the row of a fork; no row comes back when another process has taken that edition.
insert into research.runs (thread_id, base_thread_id, edition, topic, provider_name, request_model, limits, options, forked_from, forked_at_step, lease_token)
values (%(thread_id)s, %(base_thread_id)s, %(edition)s, %(topic)s, %(provider_name)s, %(request_model)s, %(limits)s, %(options)s, %(origin)s, %(step)s, %(token)s)
on conflict do nothing
returning thread_id

-- name: fork_citations
-- Copy the ledger as it was after a step: passages are those of then, who read a source stays who it was.
insert into research.citations (thread_id, number, url, title, kind, content_hash, read_thread_id, first_step, tool_call_id, passages, lease_token)
select %(thread_id)s, s.number, s.url, s.title, s.kind, s.content_hash, s.read_thread_id, s.first_step, s.tool_call_id, c.passages, %(token)s
from jsonb_to_recordset(%(citations)s) as c(number integer, content_hash text, passages jsonb)
join research.citations s on s.thread_id = %(origin)s and s.number = c.number and s.content_hash = c.content_hash
returning number

-- name: set_waiting
-- What the run waits for, or null.
update research.runs set waiting_for = %(questions)s, lease_token = %(token)s where thread_id = %(thread_id)s

-- name: find_thread
-- One run by its thread id.
select thread_id, base_thread_id, edition, topic, limits, options, outcome, stop_reason, brief, waiting_for, pruned_at is not null as pruned
from research.runs where thread_id = %(thread_id)s

-- name: kept_claims
-- The kept sentences of a brief, as the brief has them.
select bullet, part, heading, columns, cells, text, sources, basis, quote, quote_source, quote_start as "start", quote_end as "end", others
from research.claims where thread_id = %(thread_id)s and verdict = 'supported' order by position

-- name: cited_pages
-- Some sources of a run: what the model was shown of each, and the page.
select s.number, s.url, s.title, s.content_hash, s.passages, p.text
from research.citations s join research.pages p using (content_hash)
where s.thread_id = %(thread_id)s and s.number = any(%(numbers)s) order by s.number

-- name: reopen_run
-- A finished run goes on under higher limits; the brief that it had is kept beside.
with claims as (delete from research.claims where thread_id = %(thread_id)s)
update research.runs
set earlier_briefs = earlier_briefs || brief, brief = null, outcome = null, stop_reason = '', finished_at = null,
    lease_token = %(token)s
where thread_id = %(thread_id)s

-- name: finish_run
-- Record how the run ended, with its claims, in one statement.
with claims as (
    insert into research.claims (thread_id, position, bullet, part, heading, columns, cells, text, sources, verdict, code, detail,
        basis, judge, score, quote, quote_source, quote_start, quote_end, others, lease_token)
    select %(thread_id)s, position, bullet, part, heading, columns, cells, text, sources, verdict, code, detail,
        basis, judge, score, quote, nullif(quote_source, 0), "start", "end", others, %(token)s
    from jsonb_to_recordset(%(claims)s) as c(position integer, bullet integer, part text, heading text, columns jsonb, cells jsonb,
        text text, sources integer[], verdict text, code text, detail text, basis text, judge text, score real, quote text,
        quote_source integer, "start" integer, "end" integer, others jsonb)
    on conflict (thread_id, position) do nothing)
update research.runs
set waiting_for = null, finished_at = %(finished_at)s, outcome = %(outcome)s, stop_reason = %(stop_reason)s, brief = %(brief)s, lease_token = %(token)s
where thread_id = %(thread_id)s

-- name: usage
-- What a run has used so far.
select count(*) as model_calls, coalesce(sum(input_tokens), 0)::bigint as input_tokens,
       coalesce(sum(output_tokens), 0)::bigint as output_tokens,
       coalesce(sum(cost_usd), 0)::float8 as cost_usd,
       (select count(*) from research.tool_calls where thread_id = %(thread_id)s) as tool_calls
from research.model_calls where thread_id = %(thread_id)s

-- name: finished_model_calls
-- Calls of a step and later ones that came to an end before: the answer of the last attempt, if it was good.
select distinct on (step, purpose) step, purpose, attempt, response from research.model_calls
where thread_id = %(thread_id)s and step >= %(step)s
order by step, purpose, attempt desc

-- name: save_model_call
-- Record one finished model call.
insert into research.model_calls (thread_id, step, purpose, attempt, provider_name, request_model, response_model, response_id,
    finish_reasons, response, error_type, error, input_tokens, cache_read_input_tokens, output_tokens, reasoning_output_tokens,
    cost_usd, started_at, latency_ms, lease_token)
values (%(thread_id)s, %(step)s, %(purpose)s, %(attempt)s, %(provider_name)s, %(request_model)s, %(response_model)s, %(response_id)s,
    %(finish_reasons)s, %(response)s, %(error_type)s, %(error)s, %(input_tokens)s, %(cache_read_input_tokens)s, %(output_tokens)s, %(reasoning_output_tokens)s,
    %(cost_usd)s, %(started_at)s, %(latency_ms)s, %(token)s)

-- name: finished_tool_calls
-- Tool calls of a step and later ones that came to an end before.
select step, tool_call_id, status, tool_call_result, artifact from research.tool_calls
where thread_id = %(thread_id)s and step >= %(step)s

-- name: model_call_sizes
-- What each model call of a run used.
select (input_tokens + output_tokens)::bigint as tokens, coalesce(cost_usd, 0)::float8 as usd
from research.model_calls where thread_id = %(thread_id)s

-- name: tool_call_counts
-- How often each tool was called in a run.
select tool_name, count(*) as calls from research.tool_calls where thread_id = %(thread_id)s group by tool_name

-- name: offered_addresses
-- The addresses that each tool call of a run offered, in order; of a fork also those of the steps that it shares.
with recursive line (thread_id, last) as (
    select %(thread_id)s::text, null::integer
    union all
    select r.forked_from, r.forked_at_step from line join research.runs r using (thread_id) where r.forked_from is not null)
select thread_id, step, tool_call_id, (select array_agg(hit ->> 'url' order by rank)
                            from jsonb_array_elements(artifact -> 'hits') with ordinality as hits (hit, rank)) as urls
from research.tool_calls join line using (thread_id)
where step <= coalesce(last, step) and jsonb_array_length(artifact -> 'hits') > 0 order by step, started_at

-- name: save_tool_call
-- Record one finished tool call, and the text of the page that it read once for each content, in one statement.
-- A page that is there is locked, so that it is not removed before the call that refers to it is stored. Locks are taken
-- as a removal takes them, or both would wait for each other: first the page, then its addresses in their order.
with held as (
    select from research.pages where content_hash = %(page)s ->> 'content_hash' for key share),
page as (
    insert into research.pages (content_hash, url, title, kind, media_type, author, site, published, language, text)
    select content_hash, url, title, kind, media_type, author, site, published, language, text
    from jsonb_to_record(%(page)s) as p(content_hash text, url text, title text, kind text, media_type text, author text,
        site text, published text, language text, text text)
    where content_hash is not null and not exists (select from held)
    on conflict (content_hash) do nothing),
addresses as (
    insert into research.page_addresses (url_key, url, content_hash, fetched_at)
    select k, url, content_hash, coalesce(nullif(fetched_at, '')::timestamptz, now())
    from jsonb_to_record(%(page)s) as p(content_hash text, url text, kind text, url_keys text[], fetched_at text)
    cross join lateral unnest(url_keys) as k
    where kind = 'page' and (select count(*) from held) >= 0
    on conflict (url_key) do update
    set url = excluded.url, content_hash = excluded.content_hash, fetched_at = excluded.fetched_at)
insert into research.tool_calls (thread_id, step, tool_call_id, tool_name, tool_call_arguments, status, error_type, tool_call_result,
    artifact, content_hash, lead_thread_id, lead_step, lead_call_id, lead_rank, started_at, latency_ms, lease_token)
values (%(thread_id)s, %(step)s, %(tool_call_id)s, %(tool_name)s, %(tool_call_arguments)s, %(status)s, %(error_type)s, %(tool_call_result)s,
    %(artifact)s, %(page)s ->> 'content_hash', %(lead_thread_id)s, %(lead_step)s, %(lead_call_id)s, %(lead_rank)s, %(started_at)s, %(latency_ms)s, %(token)s)

-- name: find_page
-- What an address gave when it was fetched last, unless that is too long ago.
select a.url, p.title, p.text, p.kind, p.media_type, p.author, p.site, p.published, p.language
from research.page_addresses a join research.pages p using (content_hash)
where a.url_key = %(url_key)s and a.fetched_at > now() - make_interval(secs => %(max_age)s)

-- name: save_step
-- Record a finished turn and what it added to the ledger, in one statement.
with sources as (
    insert into research.citations (thread_id, number, url, title, kind, content_hash, read_thread_id, first_step, tool_call_id, passages, lease_token)
    select %(thread_id)s, c.number, c.url, c.title, c.kind, c.content_hash, %(thread_id)s, %(step)s, c.tool_call_id, c.passages, %(token)s
    from jsonb_to_recordset(%(citations)s) as c(number integer, url text, title text, kind text, content_hash text, tool_call_id text, passages jsonb)
    on conflict (thread_id, number) do update set passages = excluded.passages, lease_token = excluded.lease_token)
insert into research.steps (thread_id, step, thought, tool_calls, new_sources, new_passages, stagnant_turns, stop_reason, seconds, lease_token)
values (%(thread_id)s, %(step)s, %(thought)s, %(tool_calls)s, %(new_sources)s, %(new_passages)s, %(stagnant_turns)s, %(stop_reason)s,
    %(seconds)s, %(token)s)
on conflict (thread_id, step) do update set seconds = excluded.seconds, lease_token = excluded.lease_token

-- name: acquire_lease
-- Take a thread that nobody holds, or whose holder is known to be dead; no row comes back when it is held.
insert into research.leases as l (thread_id, token, holder, place, pid, pid_started, acquired_at, expires_at)
values (%(thread_id)s, 1, %(holder)s, %(place)s, %(pid)s, %(pid_started)s, clock_timestamp(), clock_timestamp() + make_interval(secs => %(ttl)s))
on conflict (thread_id) do update
set token = l.token + 1, holder = excluded.holder, place = excluded.place, pid = excluded.pid,
    pid_started = excluded.pid_started, acquired_at = excluded.acquired_at, expires_at = excluded.expires_at
where l.expires_at < clock_timestamp() or l.token = %(dead_token)s
returning token

-- name: show_lease
-- Who holds a thread.
select token, holder, place, pid, pid_started, acquired_at from research.leases where thread_id = %(thread_id)s

-- name: renew_lease
-- Hold a thread for longer; no row comes back when somebody else has it.
update research.leases set expires_at = clock_timestamp() + make_interval(secs => %(ttl)s)
where thread_id = %(thread_id)s and token = %(token)s returning token

-- name: release_lease
-- Let go of a thread.
update research.leases set expires_at = '-infinity' where thread_id = %(thread_id)s and token = %(token)s

-- name: list_runs
-- Runs by status or outcome, by when they began, and by words of the topic or of a sentence that was kept.
select r.*, l.place, l.pid, l.pid_started
from research.run_summary r left join research.leases l using (thread_id)
where (%(states)s::text[] is null or status = any(%(states)s) or outcome = any(%(states)s))
  and (%(since)s::timestamptz is null or started_at >= %(since)s)
  and (%(text)s::text is null or position(lower(%(text)s) in lower(topic)) > 0 or thread_id in (
      select thread_id from research.claims where verdict = 'supported' and position(lower(%(text)s) in lower(text)) > 0))
order by started_at desc, thread_id limit %(limit)s

-- name: summarise_run
-- One run in a row.
select r.*, l.place, l.pid, l.pid_started
from research.run_summary r left join research.leases l using (thread_id) where thread_id = %(thread_id)s

-- name: list_starts
-- When a run was taken up, by whom, with which model.
select start, started_at, holder, provider_name, request_model, limits from research.starts
where thread_id = %(thread_id)s order by start

-- name: list_trace
-- The conversation of a run from a line on.
select step, line, purpose, attempt, start, thought, tool_name, tool_call_arguments, status,
       observation, length(observation) as observation_length, new_sources,
       model_latency_ms, tool_latency_ms, input_tokens, output_tokens, cost_usd, started_at
from research.trace where thread_id = %(thread_id)s and line >= %(line)s order by line

-- name: describe_server
-- Where the data are.
select current_setting('server_version') as version, current_database() as database, current_user as role,
       pg_database_size(current_database()) as bytes,
       (select max(version) from research.migrations) as schema_version

-- name: table_sizes
-- Rows (estimated), dead rows and bytes of each table, with its indexes.
select case when schemaname = 'research' then 'research.' else '' end || relname as name, n_live_tup as rows, n_dead_tup as dead,
       pg_total_relation_size(relid) as bytes
from pg_stat_user_tables
where schemaname = 'research' or relname in ('checkpoints', 'checkpoint_blobs', 'checkpoint_writes')
order by bytes desc

-- name: check_database
-- What must never be: a name and how often it is so.
select 'finished runs without a brief' as what, count(*) as found from research.runs where finished_at is not null and brief is null
union all
select 'pages whose text is not what was stored', count(*) from research.pages
where encode(sha256(convert_to(text, 'UTF8')), 'hex') <> content_hash
union all
select 'kept sentences whose passage does not stand in its page', count(*) from research.claim_support
where verdict = 'supported' and quote_holds is not true
union all
select 'kept sentences that cite a source that is not in the ledger', count(*) from research.claims k
where verdict = 'supported' and exists (
    select from unnest(k.sources) as n (number)
    where not exists (select from research.citations c where c.thread_id = k.thread_id and c.number = n.number))
union all
select 'finished runs whose brief has another number of sentences than the table of claims', count(*) from research.runs r
where brief is not null and jsonb_array_length(brief -> 'claims') <>
    (select count(*) from research.claims k where k.thread_id = r.thread_id and k.verdict = 'supported')
union all
select 'unfinished runs with steps and without checkpoints', count(*) from research.runs r
where finished_at is null and exists (select from research.steps s where s.thread_id = r.thread_id)
  and not exists (select from checkpoints c where c.thread_id = r.thread_id)
union all
select 'unusable indexes', count(*) from pg_index i join pg_class c on c.oid = i.indexrelid join pg_namespace n on n.oid = c.relnamespace
where not i.indisvalid and (n.nspname = 'research' or c.relname like 'checkpoint%%')

-- name: admit_reader
-- In the embedded server, by its superuser: let people log in as the role that may only read.
do $$ begin
    if not exists (select from pg_roles where rolname = 'research_reader') then
        create role research_reader;
    end if;
end $$;
alter role research_reader login password %(password)s;
alter role research_reader set default_transaction_read_only = on;
alter role research_reader set temp_file_limit = '1GB';
grant research_reader to research;
revoke temporary on database research from public

-- name: create_reader
-- Roles belong to the whole server: another database may have made it, or may be doing so now.
do $$ begin
    if not exists (select from pg_roles where rolname = 'research_reader') then
        create role research_reader nologin;
    end if;
end $$

-- name: join_reader
-- Let us act as the reader. Whoever creates a role is a member since PostgreSQL 16, but without that right.
do $$ begin
    if not pg_has_role('research_reader',
                       case when current_setting('server_version_num')::integer < 160000 then 'member' else 'set' end) then
        grant research_reader to current_user;
    end if;
end $$

-- name: grant_reader
-- What the reader may see.
grant usage on schema research to research_reader;
grant select on all tables in schema research to research_reader

-- name: make_read_only
-- The function that runs statements of users. Within SECURITY DEFINER PostgreSQL lets nobody change the role, so
-- its owner's rights are all that a statement has; after SET ROLE, set_config('role', …) would give back the caller's.
-- Each row is an object. Where there is none, a list has the columns' names: `found` is then a row of nulls.
-- One that belongs to somebody else, as after a restored dump, is replaced.
do $$ begin
    if exists (select from pg_proc where oid = to_regprocedure('research.read_only(text,integer)')
               and proowner <> 'research_reader'::regrole) then
        drop function research.read_only(text, integer);
    end if;
end $$;
grant create on schema research to research_reader;
set local role research_reader;
create or replace function research.read_only(query text, row_limit integer) returns setof json
language plpgsql volatile security definer set search_path = research, pg_catalog, pg_temp as $body$
declare
    found record;
    line json;
    lines bigint := 0;
    bytes bigint := 0;
begin
    -- Its owner could make it SECURITY INVOKER, but not change this line: that takes a right on the schema.
    if current_user operator(pg_catalog.<>) 'research_reader' then
        raise exception 'research.read_only was changed' using errcode = '42501', hint = 'Run research-agent db migrate.';
    end if;
    for found in execute query loop  -- refuses several statements, and those that give no rows
        line := pg_catalog.to_json(found);
        lines := lines + 1;
        bytes := bytes + pg_catalog.octet_length(line::text);
        if bytes > 64 * 1024 * 1024 then
            raise exception 'the result has more than 64 MB'
                using errcode = '54000', hint = 'Select less of it, such as left(text, 1000), or fewer rows.';
        end if;
        return next line;
        exit when lines > row_limit;  -- one more than asked for: it tells that there are more
    end loop;
    if lines = 0 then
        return next (select coalesce(pg_catalog.json_agg(name), '[]')
                     from pg_catalog.json_object_keys(pg_catalog.to_json(found)) as name);
    end if;
end $body$;
comment on function research.read_only(text, integer) is 'Rows of a statement as JSON, run with the rights of research_reader: what research-agent sql calls.';
revoke all on function research.read_only(text, integer) from public;
grant execute on function research.read_only(text, integer) to session_user;
reset role;
revoke create on schema research from research_reader

-- name: reader_state
-- What there is of the reader, for the connected role.
select quote_ident(current_user) as login, r.oid is not null as exists,
       coalesce(pg_has_role(r.oid, case when current_setting('server_version_num')::integer < 160000 then 'member' else 'set' end),
                false) as is_member,
       coalesce(r.rolsuper or r.rolcreaterole or r.rolcreatedb or r.rolreplication or r.rolbypassrls
                or exists (select from pg_auth_members m where m.member = r.oid), false) as is_mighty,
       coalesce(p.prosecdef and p.proowner = r.oid and has_function_privilege(p.oid, 'execute'), false) as has_function
from (select) as one left join pg_roles r on r.rolname = 'research_reader'
left join pg_proc p on p.oid = to_regprocedure('research.read_only(text,integer)')

-- name: limit_reader
-- For this transaction. Only a superuser may set the last one, and only he is not under the limit of the server.
select set_config('statement_timeout', %(statement)s, true), set_config('lock_timeout', %(lock)s, true),
       set_config('idle_in_transaction_session_timeout', '60s', true), set_config('client_encoding', 'UTF8', true),
       set_config('search_path', 'pg_catalog, pg_temp', true),
       case when current_setting('is_superuser') = 'on' then set_config('temp_file_limit', '1GB', true) end

-- name: read_rows
-- What a statement gives, one more row than the limit when there are more.
select line::text from research.read_only(%(statement)s, %(limit)s) as line

-- name: unlock_all
-- Advisory locks of a session outlive its transaction, and behind a pooler the session outlives us.
select pg_catalog.pg_advisory_unlock_all()

-- name: check_lease
-- Refuse to go on without the lease, and keep it from being taken until this transaction ends.
select research.check_lease(%(thread_id)s, %(token)s)

-- name: find_remains
-- What there is of a thread, with or without a row of its run.
select r.topic, r.outcome, (select count(*) from research.claims k where k.thread_id = t.thread_id and k.verdict = 'supported') as sentences,
       (select count(*) from checkpoints c where c.thread_id = t.thread_id) as checkpoints,
       exists (select from checkpoint_blobs b where b.thread_id = t.thread_id)
       or exists (select from checkpoint_writes w where w.thread_id = t.thread_id) as leftovers
from (values (%(thread_id)s::text)) t (thread_id) left join research.runs r using (thread_id)

-- name: pages_of_run
-- What a run read.
select content_hash from research.citations where thread_id = %(thread_id)s
union select content_hash from research.tool_calls where thread_id = %(thread_id)s and content_hash is not null

-- name: delete_run
-- A run with its whole journal. Waits for late writers of its checkpoints, who lock its row.
delete from research.runs where thread_id = %(thread_id)s returning thread_id

-- name: delete_checkpoints
-- All that LangGraph has of a thread.
with b as (delete from checkpoint_blobs where thread_id = %(thread_id)s),
w as (delete from checkpoint_writes where thread_id = %(thread_id)s),
c as (delete from checkpoints where thread_id = %(thread_id)s returning 1)
select count(*) as checkpoints from c

-- name: one_deletion_at_a_time
-- Of two deletions at once each would see the other's run refer to the pages that they share.
select pg_advisory_xact_lock(7270015032)

-- name: lock_pages
-- Some pages, locked so that nothing can begin to refer to them; those that are locked are being referred to.
select content_hash from research.pages where content_hash = any(%(hashes)s) order by content_hash for update skip locked

-- name: lock_unused_pages
-- The next pages that nothing refers to and no address gave since `before`; locked in the same way.
select content_hash from research.pages p
where content_hash > %(after)s and fetched_at < %(before)s
  and not exists (select from research.citations c where c.content_hash = p.content_hash)
  and not exists (select from research.tool_calls t where t.content_hash = p.content_hash)
  and not exists (select from research.page_addresses a where a.content_hash = p.content_hash and a.fetched_at >= %(before)s)
order by content_hash limit %(batch)s for update of p skip locked

-- name: judge_pages
-- Those of some locked pages that nothing refers to: a statement of its own, it sees what came before the locks.
select content_hash from research.pages p
where content_hash = any(%(hashes)s)
  and not exists (select from research.citations c where c.content_hash = p.content_hash)
  and not exists (select from research.tool_calls t where t.content_hash = p.content_hash)

-- name: delete_addresses
-- Those of some locked pages, in the order in which save_tool_call takes them.
delete from research.page_addresses where url_key in (
    select url_key from research.page_addresses where content_hash = any(%(hashes)s) order by url_key collate "C" for update)

-- name: delete_pages
-- Some locked pages that nothing refers to.
delete from research.pages where content_hash = any(%(hashes)s) returning content_hash

-- name: prune_runs
-- Remove the checkpoints of some finished runs, atomically. A lease that is locked here cannot be taken meanwhile, and
-- a run that is being taken up is skipped; the row of the run is locked, too, so that it is judged as it is now.
with old as (
    select r.thread_id, l.token from research.runs r join research.leases l using (thread_id)
    where r.finished_at < %(before)s and r.pruned_at is null and l.expires_at < clock_timestamp()
    order by r.finished_at limit %(batch)s for update skip locked),
c as (delete from checkpoints x using old where x.thread_id = old.thread_id
      returning pg_column_size(checkpoint) + pg_column_size(metadata) as bytes),
b as (delete from checkpoint_blobs x using old where x.thread_id = old.thread_id returning pg_column_size(blob) as bytes),
w as (delete from checkpoint_writes x using old where x.thread_id = old.thread_id returning pg_column_size(blob) as bytes),
marked as (update research.runs r set pruned_at = now(), lease_token = old.token from old
           where r.thread_id = old.thread_id returning r.thread_id)
select (select count(*) from marked) as runs, count(*) as rows, coalesce(sum(bytes), 0)::bigint as bytes
from (select bytes from c union all select bytes from b union all select bytes from w) removed

-- name: count_prunable
-- What prune_runs would remove now.
with old as (
    select r.thread_id from research.runs r join research.leases l using (thread_id)
    where r.finished_at < %(before)s and r.pruned_at is null and l.expires_at < clock_timestamp())
select (select count(*) from old) as runs, count(*) as rows, coalesce(sum(bytes), 0)::bigint as bytes
from (select pg_column_size(checkpoint) + pg_column_size(metadata) as bytes from checkpoints join old using (thread_id)
      union all select pg_column_size(blob) from checkpoint_blobs join old using (thread_id)
      union all select pg_column_size(blob) from checkpoint_writes join old using (thread_id)) there

-- name: count_unused_pages
-- How many pages lock_unused_pages would find.
select count(*) as pages from research.pages p
where fetched_at < %(before)s
  and not exists (select from research.citations c where c.content_hash = p.content_hash)
  and not exists (select from research.tool_calls t where t.content_hash = p.content_hash)
  and not exists (select from research.page_addresses a where a.content_hash = p.content_hash and a.fetched_at >= %(before)s)

-- name: vacuum
-- Make the space of removed rows usable again, and give the planner fresh numbers.
vacuum (analyze) research.runs, research.starts, research.steps, research.model_calls, research.tool_calls, research.pages,
    research.page_addresses, research.citations, research.claims, research.leases, research.migrations,
    checkpoints, checkpoint_blobs, checkpoint_writes

-- name: vacuum_full
-- Give that space back to the disk. Locks each table while it is written anew.
vacuum (full, analyze) research.runs, research.starts, research.steps, research.model_calls, research.tool_calls, research.pages,
    research.page_addresses, research.citations, research.claims, research.leases, research.migrations,
    checkpoints, checkpoint_blobs, checkpoint_writes

-- name: in_one_moment
-- All that this transaction reads is as it was at its first read.
set transaction isolation level repeatable read, read only

-- name: in_utc
-- Times as UTC until the transaction ends.
select set_config('timezone', 'UTC', true)

-- name: export_summary
-- A run for export: each row as JSON, with the columns in their order.
select row_to_json(t)::text as row from research.run_summary t where thread_id = %(thread_id)s

-- name: export_run
select row_to_json(t)::text as row from research.runs t where thread_id = %(thread_id)s

-- name: export_starts
select row_to_json(t)::text as row from research.starts t where thread_id = %(thread_id)s order by start

-- name: export_steps
select row_to_json(t)::text as row from research.steps t where thread_id = %(thread_id)s order by step

-- name: export_model_calls
select row_to_json(t)::text as row from research.model_calls t where thread_id = %(thread_id)s
order by step, purpose <> 'reason', started_at, purpose, attempt

-- name: export_tool_calls
select row_to_json(t)::text as row from research.tool_calls t where thread_id = %(thread_id)s order by step, started_at, tool_call_id

-- name: export_citations
select row_to_json(t)::text as row from research.citations t where thread_id = %(thread_id)s order by number

-- name: export_claims
select row_to_json(t)::text as row from research.claims t where thread_id = %(thread_id)s order by position

-- name: export_pages
-- The pages of its ledger, with text.
select row_to_json(t)::text as row from research.pages t
where content_hash in (select content_hash from research.citations where thread_id = %(thread_id)s) order by content_hash
