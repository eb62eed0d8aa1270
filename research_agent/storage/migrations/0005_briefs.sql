-- A brief has a lead, sections and tables; why a sentence was left out is a code; a model may have judged its meaning.

alter table research.model_calls drop constraint model_calls_purpose_check;
alter table research.model_calls add constraint model_calls_purpose_check check (
    purpose ~ '^(reason|write|judge|repair|judge_repair|rewrite|judge_rewrite)(_[0-9]+)?$');

alter table research.claims disable trigger fence;
alter table research.claims
    add column part text not null default 'body' check (part in ('lead', 'body', 'disagree')),
    add column heading text not null default '',
    add column columns jsonb not null default '[]',
    add column cells jsonb not null default '[]',
    add column code text not null default '',
    add column detail text not null default '',
    add column basis text not null default '' check (basis in ('', 'stated', 'combined', 'computed')),
    add column judge text not null default '';
update research.claims set
    judge = case when verdict = 'supported' then coalesce(substring(reason from '^second opinion of (.*)$'), '') else '' end,
    basis = case when verdict <> 'supported' then '' when cardinality(sources) > 1 then 'combined' else 'stated' end,
    code = case
        when verdict = 'supported' then ''
        when reason like 'it repeats an instruction%' then 'instruction'
        when reason like 'it writes an address%' then 'address'
        when reason like 'there is no source%' or reason like 'it cites no passage%' then 'no_source'
        when reason like 'it is too long%' then 'too_long'
        when reason like '%does not stand in the passage' then 'figure'
        when reason like '%say only a part%' or reason like '%do not say "%' or reason like 'only its names%' then 'part'
        when verdict = 'partly' then 'doubt'
        else 'unsaid' end,
    detail = case when verdict = 'supported' then '' else reason end
where reason <> '' or verdict = 'supported';
alter table research.claims enable trigger fence;

drop view research.claim_support;
alter table research.claims drop column reason;
create view research.claim_support as
select k.thread_id, k.position, k.bullet, k.part, k.heading, k.text as sentence, k.verdict, k.code, k.detail, k.basis, k.judge,
       k.score, k.sources, k.quote_source, c.title, c.url, c.domain, k.quote,
       substr(p.text, k.quote_start + 1, k.quote_end - k.quote_start) = k.quote as quote_holds
from research.claims k
left join research.citations c on c.thread_id = k.thread_id and c.number = k.quote_source
left join research.pages p on p.content_hash = c.content_hash;

-- The lines of a step in the order in which its calls began: a brief is written, judged and repaired in several.
create or replace view research.trace as
select r.thread_id, t.*
from research.runs r
cross join lateral (
    select m.step,
           row_number() over (order by m.step, m.purpose <> 'reason', m.started_at, m.purpose, m.attempt, c.number) as line,
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

comment on column research.model_calls.purpose is 'reason (think and choose tools), write, judge (the meaning of each sentence), repair (of refused sentences), judge_repair, rewrite (where all were refused) or judge_rewrite; with a number from 2 where it took several calls';
comment on column research.trace.purpose is 'reason, write, judge, repair, judge_repair, rewrite or judge_rewrite';
comment on column research.claims.part is 'lead (what answers the topic), body or disagree (what sources contradict each other on)';
comment on column research.claims.heading is 'Of its section';
comment on column research.claims.columns is 'Of the table that it is a row of, else []';
comment on column research.claims.cells is 'Of that row, else []';
comment on column research.claims.code is 'Why it was left out: unsaid, part, doubt, figure, quotation, no_source, address, instruction, off_topic, leaning, too_long or unchecked; empty when kept';
comment on column research.claims.detail is 'The words, number or name that the code is about';
comment on column research.claims.basis is 'Of a kept sentence: stated by one source, combined from several, or computed from figures in them';
comment on column research.claims.judge is 'The model that judged its meaning; empty where the program decided';
comment on view research.claim_support is 'One row for each sentence of a brief, kept or dropped, with its passage and whether that still stands in the stored page.';
comment on column research.claim_support.thread_id is 'The run, gen_ai.conversation.id';
comment on column research.claim_support.position is 'Place in the draft, from 1';
comment on column research.claim_support.bullet is 'Which bullet of the brief';
comment on column research.claim_support.part is 'lead, body or disagree';
comment on column research.claim_support.heading is 'Of its section';
comment on column research.claim_support.sentence is 'Without its [n]';
comment on column research.claim_support.verdict is 'supported (kept), partly or not (both dropped)';
comment on column research.claim_support.code is 'Why it was left out; empty when kept';
comment on column research.claim_support.detail is 'The words, number or name that the code is about';
comment on column research.claim_support.basis is 'stated, combined or computed';
comment on column research.claim_support.judge is 'The model that judged its meaning; empty where the program decided';
comment on column research.claim_support.score is '0 to 1';
comment on column research.claim_support.sources is 'Numbers it cites';
comment on column research.claim_support.quote_source is 'Number of the source of the quote';
comment on column research.claim_support.title is 'Of that source';
comment on column research.claim_support.url is 'Of that source';
comment on column research.claim_support.domain is 'Of that source';
comment on column research.claim_support.quote is 'The passage';
comment on column research.claim_support.quote_holds is 'Whether the stored page has it at its offsets';
