-- Names of OpenTelemetry's GenAI conventions, what led to each source, starts, forks, keys and indexes.

drop view research.overview;
drop view research.trace;

-- Rows that are there keep the token of their writer, which the fence would refuse by now.
alter table research.runs disable trigger fence;
alter table research.model_calls disable trigger fence;
alter table research.tool_calls disable trigger fence;
alter table research.citations disable trigger fence;
alter table research.claims disable trigger fence;

-- Immutable, for a stored column: the host of an address, without user, port and "www."; null for files.
create function research.domain_of(url text) returns text language sql immutable strict parallel safe as $$
    select nullif(regexp_replace(rtrim(lower(substring(
        url from '(?i)^\s*(?!file:)[a-z][a-z0-9+.-]*://(?:[^/?#]*@)?(\[[^]]*\]|[^/?#:\s]*)')), '.'), '^www\.', ''), '')
$$;

-- What a model said, without its tool calls and its thinking: content is a text or a list of blocks.
create function research.message_text(message jsonb) returns text language sql immutable parallel safe as $$
    select case jsonb_typeof(message #> '{data,content}')
        when 'string' then message #>> '{data,content}'
        when 'array' then (
            select string_agg(case jsonb_typeof(block) when 'string' then block #>> '{}' else block ->> 'text' end, ''
                              order by position)
            from jsonb_array_elements(message #> '{data,content}') with ordinality as blocks (block, position)
            where jsonb_typeof(block) = 'string' or block ->> 'type' = 'text')
        end
$$;

-- As tracing.semantic_names spells providers; dropped below.
create function research.provider_of(model text) returns text language sql immutable as $$
    select coalesce((select semantic from (values ('google_genai', 'gcp.gemini'), ('google_vertexai', 'gcp.vertex_ai'),
        ('azure_openai', 'azure.ai.openai'), ('bedrock', 'aws.bedrock'), ('mistralai', 'mistral_ai'), ('xai', 'x_ai'))
        as names (ours, semantic) where ours = split_part(model, ':', 1)), split_part(model, ':', 1))
$$;

create table research.starts (
    thread_id     text not null references research.runs on delete cascade,
    start         integer not null,
    provider_name text not null,
    request_model text not null,
    limits        jsonb not null,
    holder        text not null,
    started_at    timestamptz not null default now(),
    lease_token   bigint not null,
    primary key (thread_id, start)
);

alter table research.runs rename column model to request_model;
alter table research.runs
    add column provider_name text,
    add column forked_from text,
    add column forked_at_step integer,
    add column pruned_at timestamptz;
update research.runs
set provider_name = research.provider_of(request_model),
    request_model = regexp_replace(request_model, '^[^:]*:', '');
alter table research.runs alter column provider_name set not null;
insert into research.starts (thread_id, start, provider_name, request_model, limits, holder, started_at, lease_token)
select thread_id, starts, provider_name, request_model, limits, '', created_at, lease_token from research.runs;
alter table research.runs drop column starts;

alter table research.model_calls rename column model to request_model;
alter table research.model_calls rename column cached_tokens to cache_read_input_tokens;
alter table research.model_calls rename column reasoning_tokens to reasoning_output_tokens;
alter table research.model_calls
    add column provider_name text,
    add column response_model text,
    add column response_id text,
    add column finish_reasons text[],
    add column error_type text;
update research.model_calls
set provider_name = research.provider_of(request_model),
    request_model = regexp_replace(request_model, '^[^:]*:', ''),
    response_model = response #>> '{data,response_metadata,model_name}',
    error_type = case when error is not null then 'unknown' end;
drop function research.provider_of(text);
alter table research.model_calls
    alter column provider_name set not null,
    add check ((error is null) = (error_type is null));

alter table research.tool_calls rename column tool to tool_name;
alter table research.tool_calls rename column args to tool_call_arguments;
alter table research.tool_calls rename column content to tool_call_result;
alter table research.tool_calls
    add column error_type text,
    add column content_hash text references research.pages,
    add column lead_thread_id text,
    add column lead_step integer,
    add column lead_call_id text,
    add column lead_rank integer,
    add column domain text generated always as (research.domain_of(tool_call_arguments ->> 'url')) stored;
update research.tool_calls t
set error_type = case when status = 'error' then 'unknown' end,
    content_hash = (select content_hash from research.pages p where p.content_hash = t.artifact #>> '{citation,content_hash}');
alter table research.tool_calls add check ((status = 'error') = (error_type is not null));
update research.tool_calls f
set lead_thread_id = f.thread_id, lead_step = o.step, lead_call_id = o.tool_call_id, lead_rank = o.rank
from (select distinct on (thread_id, hit ->> 'url') thread_id, step, tool_call_id, rank, hit ->> 'url' as url
      from research.tool_calls, jsonb_array_elements(artifact -> 'hits') with ordinality as hits (hit, rank)
      where jsonb_typeof(artifact -> 'hits') = 'array'
      order by thread_id, hit ->> 'url', step, tool_call_id, rank) o
where o.thread_id = f.thread_id and o.url = f.tool_call_arguments ->> 'url' and o.step < f.step;

alter table research.page_addresses
    add foreign key (content_hash) references research.pages on delete cascade;

alter table research.citations
    add column tool_call_id text not null default '',
    add column read_thread_id text,
    add column domain text generated always as (research.domain_of(url)) stored;
update research.citations c
set read_thread_id = thread_id,
    tool_call_id = coalesce((select min(tool_call_id) from research.tool_calls t where t.thread_id = c.thread_id
        and t.step = c.first_step and t.content_hash = c.content_hash), '');
alter table research.citations alter column read_thread_id set not null, alter column tool_call_id drop default;

alter table research.claims alter column quote_source drop not null;
update research.claims set quote_source = null where quote_source = 0;
alter table research.claims add foreign key (thread_id, quote_source) references research.citations;

create index on research.runs (created_at);
create index on research.runs (finished_at) where pruned_at is null;
create index model_calls_day on research.model_calls (((started_at at time zone 'UTC')::date));
create index on research.model_calls (started_at) where error is not null;
create index on research.tool_calls (started_at) where status = 'error';
create index on research.tool_calls (content_hash) where content_hash is not null;
create index on research.tool_calls (domain) where domain is not null;
create index on research.citations (content_hash);
create index on research.citations (domain);
create index on research.page_addresses (content_hash);

alter table research.runs enable trigger fence;
alter table research.model_calls enable trigger fence;
alter table research.tool_calls enable trigger fence;
alter table research.citations enable trigger fence;
alter table research.claims enable trigger fence;
create trigger fence before insert or update on research.starts for each row execute function research.fence_journal();

-- A holder that was paused while its run was deleted or pruned: what it writes late would belong to nothing.
-- FOR KEY SHARE: a deletion waits for this write, and this write sees a deletion. Threads of other programs in the same
-- tables have no lease and pass; definer, since those programs need not know our schema.
create function research.fence_late_write() returns trigger language plpgsql
security definer set search_path = pg_catalog, pg_temp as $$
begin
    perform from research.runs where thread_id = new.thread_id and pruned_at is null for key share;
    if not found and exists (select from research.leases where thread_id = new.thread_id) then
        raise exception 'thread % was deleted or pruned', new.thread_id using errcode = 'RA001';
    end if;
    return new;
end $$;
create trigger research_fence before insert or update on checkpoint_writes for each row execute function research.fence_late_write();
create trigger research_fence before insert or update on checkpoint_blobs for each row execute function research.fence_late_write();
