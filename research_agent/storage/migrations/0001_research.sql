-- The journal of every run, for people who read it with plain SQL. See docs/sql.md.

create schema if not exists research;

create table research.leases (
    thread_id   text primary key,
    token       bigint not null,        -- fencing token: grows with each acquisition; rows are never deleted
    holder      text not null,          -- host and process, for people
    place       text not null,          -- machine and process table the holder lives in, "" if unknown
    pid         integer not null,
    pid_started double precision not null,
    acquired_at timestamptz not null,
    expires_at  timestamptz not null
);
comment on table research.leases is 'Who runs a thread right now (expires_at in the future), or did last.';

create table research.runs (
    thread_id      text primary key,
    base_thread_id text not null,       -- thread id of the topic; editions after the first add ".2", ".3", …
    edition        integer not null,
    topic          text not null,
    model          text not null,
    limits         jsonb not null,      -- those of the last start
    options        jsonb not null,      -- where it searches and with what: what `answer` goes on with
    waiting_for    jsonb,               -- questions to a person, while it waits
    starts         integer not null default 0,  -- how often a process took it up: 1 + resumes
    created_at     timestamptz not null default now(),
    finished_at    timestamptz,
    outcome        text check (outcome in ('complete', 'partial', 'no_evidence', 'failed')),
    stop_reason    text not null default '',
    brief          jsonb,               -- the whole brief as `--json` prints it
    earlier_briefs jsonb not null default '[]',  -- those of limits that were raised since
    lease_token    bigint not null,
    unique (base_thread_id, edition)
);
comment on table research.runs is 'One row for each topic and edition, written before the first step.';

create table research.steps (
    thread_id      text not null references research.runs on delete cascade,
    step           integer not null,
    thought        text not null,       -- what the model said beside its tool calls
    tool_calls     integer not null,
    new_sources    integer not null,
    new_passages   integer not null,
    stagnant_turns integer not null,    -- turns in a row without new evidence, this one included
    stop_reason    text not null,       -- "" when the run went on
    seconds        real not null,       -- running time of all starts up to here
    finished_at    timestamptz not null default now(),
    lease_token    bigint not null,
    primary key (thread_id, step)
);
comment on table research.steps is 'One row for each finished turn of the loop.';

create table research.model_calls (
    thread_id        text not null references research.runs on delete cascade,
    step             integer not null,
    purpose          text not null check (purpose in ('reason', 'write', 'repair', 'judge')),
    attempt          integer not null,
    model            text not null,
    response         jsonb,             -- the message, null when the call failed
    error            text,
    input_tokens     integer not null default 0,
    cached_tokens    integer not null default 0,   -- part of input_tokens
    output_tokens    integer not null default 0,
    reasoning_tokens integer not null default 0,   -- part of output_tokens
    cost_usd         numeric(12, 8),    -- null when no price is known
    started_at       timestamptz not null,
    latency_ms       integer not null,
    lease_token      bigint not null,
    primary key (thread_id, step, purpose, attempt),
    check ((response is null) <> (error is null))
);
comment on table research.model_calls is 'One row for each model call that came to an end; a step that runs again reads its answer here.';

create table research.tool_calls (
    thread_id    text not null references research.runs on delete cascade,
    step         integer not null,
    tool_call_id text not null,
    tool         text not null,
    args         jsonb not null,
    status       text not null check (status in ('success', 'error')),
    content      text not null,         -- the observation, as the model got it first
    artifact     jsonb,                 -- the same as data: hits, or the page and its passages
    started_at   timestamptz not null,
    latency_ms   integer not null,
    lease_token  bigint not null,
    primary key (thread_id, step, tool_call_id)
);
comment on table research.tool_calls is 'One row for each tool call that came to an end.';

create table research.pages (
    content_hash text primary key,      -- SHA-256 of text
    url          text not null,
    title        text not null,
    kind         text not null check (kind in ('page', 'document')),
    media_type   text not null,
    author       text not null,
    site         text not null,
    published    text not null,
    language     text not null,
    text         text not null,
    fetched_at   timestamptz not null default now()
);
comment on table research.pages is 'Text of each page that was read, once for each content. Quotes are offsets into text.';

create table research.page_addresses (
    url_key      text primary key,      -- canonical form, for comparison only
    url          text not null,         -- as it was fetched
    content_hash text not null,         -- of research.pages
    fetched_at   timestamptz not null
);
comment on table research.page_addresses is 'What each address of the web gave when it was fetched last.';

create table research.citations (
    thread_id    text not null references research.runs on delete cascade,
    number       integer not null,      -- the [n] of the brief
    url          text not null,
    title        text not null,
    kind         text not null,
    content_hash text not null references research.pages,
    first_step   integer not null,
    passages     jsonb not null,        -- [{"start", "end"}]: what the model was shown, offsets into pages.text
    lease_token  bigint not null,
    primary key (thread_id, number)
);
comment on table research.citations is 'The ledger: sources in the order in which they were read.';

create table research.claims (
    thread_id    text not null references research.runs on delete cascade,
    position     integer not null,
    bullet       integer not null,
    text         text not null,
    sources      integer[] not null,    -- numbers the sentence cites
    verdict      text not null check (verdict in ('supported', 'partly', 'not')),
    reason       text not null,
    score        real not null,         -- 0 to 1
    quote        text not null,
    quote_source integer not null,      -- 0 when nothing supports it
    quote_start  integer not null,      -- offsets into pages.text of that source
    quote_end    integer not null,
    others       jsonb not null,        -- [{"source", "start", "end", "text"}]: a quote of each further cited source
    lease_token  bigint not null,
    primary key (thread_id, position)
);
comment on table research.claims is 'Each sentence of the brief, kept or dropped, with the passage it stands on.';

-- A process that lost its lease must not write any more: a paused holder wakes up and still believes in it.
-- FOR SHARE: a takeover waits for this write, and this write sees a takeover.
create function research.check_lease(thread text, wanted bigint) returns void language plpgsql as $$
declare current_token bigint;
begin
    select token into current_token from research.leases where thread_id = thread for share;
    if current_token is distinct from wanted then
        raise exception 'stale lease token % for thread % (now %)', wanted, thread, current_token
            using errcode = 'RA001';
    end if;
end $$;

create function research.fence_journal() returns trigger language plpgsql as $$
begin
    perform research.check_lease(new.thread_id, new.lease_token);
    -- Rows of a step need no flush of their own: the checkpoint that follows within the step flushes all that was
    -- committed before it. Only a crash of the server itself in between can lose them, and then a call is repeated.
    if tg_nargs > 0 then
        perform set_config('synchronous_commit', 'off', true);
    end if;
    return new;
end $$;

create function research.fence_checkpoint() returns trigger language plpgsql as $$
begin
    -- Checkpoints of other programs in the same database carry no token and pass.
    if new.metadata ? 'lease_token' then
        perform research.check_lease(new.thread_id, (new.metadata ->> 'lease_token')::bigint);
    end if;
    return new;
end $$;

create trigger fence before insert or update on research.runs for each row execute function research.fence_journal();
create trigger fence before insert or update on research.steps for each row execute function research.fence_journal('no flush');
create trigger fence before insert or update on research.model_calls for each row execute function research.fence_journal('no flush');
create trigger fence before insert or update on research.tool_calls for each row execute function research.fence_journal('no flush');
create trigger fence before insert or update on research.citations for each row execute function research.fence_journal('no flush');
create trigger fence before insert or update on research.claims for each row execute function research.fence_journal();
create trigger research_fence before insert or update on checkpoints for each row execute function research.fence_checkpoint();

create view research.overview as
select r.thread_id, r.topic, r.edition, r.model,
       case when r.finished_at is not null then 'finished'
            when l.expires_at > now() then 'running'
            when r.waiting_for is not null then 'waiting'
            else 'interrupted' end as status,
       r.outcome, r.stop_reason, r.starts, r.created_at, r.finished_at,
       (select count(*) from research.steps s where s.thread_id = r.thread_id) as steps,
       (select count(*) from research.citations c where c.thread_id = r.thread_id) as sources,
       (select count(*) from research.tool_calls t where t.thread_id = r.thread_id) as tool_calls,
       m.model_calls, m.input_tokens, m.output_tokens, m.cost_usd
from research.runs r
left join research.leases l using (thread_id)
cross join lateral (
    select count(*) as model_calls, coalesce(sum(input_tokens), 0) as input_tokens,
           coalesce(sum(output_tokens), 0) as output_tokens, coalesce(sum(cost_usd), 0) as cost_usd
    from research.model_calls m where m.thread_id = r.thread_id) m;
comment on view research.overview is 'One row for each run: where it stands, what it used.';

create view research.trace as
select thread_id, step, started_at, 'model' as kind, purpose as name,
       coalesce(error, (select string_agg(call ->> 'name' || ' ' || (call -> 'args')::text, '; ')
                        from jsonb_array_elements(response #> '{data,tool_calls}') call),
                left(response #>> '{data,content}', 300)) as what,
       case when error is null then 'success' else 'error' end as status,
       latency_ms, input_tokens + output_tokens as tokens, cost_usd
from research.model_calls
union all
select thread_id, step, started_at, 'tool', tool, args::text || E'\n' || left(content, 300), status, latency_ms, null, null
from research.tool_calls;
comment on view research.trace is 'What happened, call by call; order by step, started_at.';
