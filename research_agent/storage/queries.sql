-- All SQL of the program that is not a migration. Each query has a name and a line that says what for.

-- name: find_runs
-- The newest edition of each thread whose id may belong to a topic.
select distinct on (base_thread_id) thread_id, base_thread_id, edition, topic, limits, outcome, stop_reason, brief
from research.runs where base_thread_id = any(%(candidates)s)
order by base_thread_id, edition desc

-- name: start_run
-- Write the run before its first step, or count one more start of it.
insert into research.runs (thread_id, base_thread_id, edition, topic, model, limits, options, starts, lease_token)
values (%(thread_id)s, %(base_thread_id)s, %(edition)s, %(topic)s, %(model)s, %(limits)s, %(options)s, 1, %(token)s)
on conflict (thread_id) do update
set starts = runs.starts + 1, limits = excluded.limits, options = excluded.options, lease_token = excluded.lease_token
where runs.topic = excluded.topic  -- else the ids collide
returning created_at, outcome, stop_reason, brief,
    (select coalesce(max(seconds), 0)::float8 from research.steps s where s.thread_id = runs.thread_id) as seconds

-- name: set_waiting
-- What the run waits for, or null.
update research.runs set waiting_for = %(questions)s, lease_token = %(token)s where thread_id = %(thread_id)s

-- name: find_thread
-- One run by its thread id.
select thread_id, base_thread_id, edition, topic, limits, options, outcome, stop_reason, brief, waiting_for
from research.runs where thread_id = %(thread_id)s

-- name: kept_claims
-- The kept sentences of a brief, as the brief has them.
select bullet, text, sources, quote, quote_source, quote_start as "start", quote_end as "end", others
from research.claims where thread_id = %(thread_id)s and verdict = 'supported' order by position

-- name: cited_pages
-- Some sources of a run: what the model was shown of each, and the page.
select s.number, s.url, s.content_hash, s.passages, p.text
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
    insert into research.claims
    select %(thread_id)s, c.*, %(token)s
    from jsonb_to_recordset(%(claims)s) as c(position integer, bullet integer, text text, sources integer[],
        verdict text, reason text, score real, quote text, quote_source integer, "start" integer, "end" integer,
        others jsonb)
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
insert into research.model_calls (thread_id, step, purpose, attempt, model, response, error, input_tokens,
    cached_tokens, output_tokens, reasoning_tokens, cost_usd, started_at, latency_ms, lease_token)
values (%(thread_id)s, %(step)s, %(purpose)s, %(attempt)s, %(model)s, %(response)s, %(error)s, %(input_tokens)s,
    %(cached_tokens)s, %(output_tokens)s, %(reasoning_tokens)s, %(cost_usd)s, %(started_at)s, %(latency_ms)s, %(token)s)

-- name: finished_tool_calls
-- Tool calls of a step and later ones that came to an end before.
select step, tool_call_id, status, content, artifact from research.tool_calls
where thread_id = %(thread_id)s and step >= %(step)s

-- name: model_call_sizes
-- What each model call of a run used.
select (input_tokens + output_tokens)::bigint as tokens, coalesce(cost_usd, 0)::float8 as usd
from research.model_calls where thread_id = %(thread_id)s

-- name: tool_call_counts
-- How often each tool was called in a run.
select tool, count(*) as calls from research.tool_calls where thread_id = %(thread_id)s group by tool

-- name: save_tool_call
-- Record one finished tool call, and the text of the page that it read once for each content, in one statement.
with page as (
    insert into research.pages (content_hash, url, title, kind, media_type, author, site, published, language, text)
    select content_hash, url, title, kind, media_type, author, site, published, language, text
    from jsonb_to_record(%(page)s) as p(content_hash text, url text, title text, kind text, media_type text, author text,
        site text, published text, language text, text text)
    where content_hash is not null
    on conflict (content_hash) do nothing),
addresses as (
    insert into research.page_addresses (url_key, url, content_hash, fetched_at)
    select k, url, content_hash, coalesce(nullif(fetched_at, '')::timestamptz, now())
    from jsonb_to_record(%(page)s) as p(content_hash text, url text, kind text, url_keys text[], fetched_at text)
    cross join lateral unnest(url_keys) as k
    where kind = 'page'
    on conflict (url_key) do update
    set url = excluded.url, content_hash = excluded.content_hash, fetched_at = excluded.fetched_at)
insert into research.tool_calls (thread_id, step, tool_call_id, tool, args, status, content, artifact, started_at, latency_ms, lease_token)
values (%(thread_id)s, %(step)s, %(tool_call_id)s, %(tool)s, %(args)s, %(status)s, %(content)s, %(artifact)s, %(started_at)s, %(latency_ms)s, %(token)s)

-- name: find_page
-- What an address gave when it was fetched last, unless that is too long ago.
select a.url, p.title, p.text, p.kind, p.media_type, p.author, p.site, p.published, p.language
from research.page_addresses a join research.pages p using (content_hash)
where a.url_key = %(url_key)s and a.fetched_at > now() - make_interval(secs => %(max_age)s)

-- name: save_step
-- Record a finished turn and what it added to the ledger, in one statement.
with sources as (
    insert into research.citations (thread_id, number, url, title, kind, content_hash, first_step, passages, lease_token)
    select %(thread_id)s, c.number, c.url, c.title, c.kind, c.content_hash, %(step)s, c.passages, %(token)s
    from jsonb_to_recordset(%(citations)s) as c(number integer, url text, title text, kind text, content_hash text, passages jsonb)
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
