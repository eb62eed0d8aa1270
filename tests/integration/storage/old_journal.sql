-- Rows as the program of schema version 1 wrote them: a finished run that had been killed once, and one that was killed.

insert into research.leases values
    ('research-old', 1, 'host process 1', '', 1, 0, '2026-01-05 10:00Z', '-infinity'),
    ('research-cut', 2, 'host process 2', '', 2, 0, '2026-01-06 10:00Z', '-infinity');

insert into research.runs (thread_id, base_thread_id, edition, topic, model, limits, options, starts, created_at, finished_at,
                           outcome, stop_reason, brief, lease_token) values
    ('research-old', 'research-old', 1, 'How do tides work?', 'google_genai:gemini-2.5-flash', '{"max_steps": 10}', '{}', 2,
     '2026-01-05 10:00Z', '2026-01-05 10:09Z', 'complete', 'done', '{"outcome": "complete"}', 1),
    ('research-cut', 'research-cut', 1, 'What do limpets eat?', 'mistralai:small:tuned', '{"max_steps": 10}', '{}', 2,
     '2026-01-06 10:00Z', null, null, '', null, 2);

insert into research.steps (thread_id, step, thought, tool_calls, new_sources, new_passages, stagnant_turns, stop_reason,
                            seconds, lease_token) values
    ('research-old', 1, 'I search.', 1, 0, 0, 1, '', 4, 1),
    ('research-old', 2, '', 3, 1, 1, 0, '', 11.5, 1),
    ('research-old', 3, 'DONE', 0, 0, 0, 0, 'done', 13, 1);

insert into research.model_calls (thread_id, step, purpose, attempt, model, response, error, input_tokens, cached_tokens,
                                  output_tokens, reasoning_tokens, cost_usd, started_at, latency_ms, lease_token) values
    ('research-old', 1, 'reason', 1, 'google_genai:gemini-2.5-flash', null, 'too many requests (HTTP 429)', 0, 0, 0, 0, null,
     '2026-01-05 10:00:01Z', 100, 1),
    ('research-old', 1, 'reason', 2, 'google_genai:gemini-2.5-flash', '{"type": "ai", "data": {"content": "I search.",
      "response_metadata": {"model_name": "gemini-2.5-flash-001"},
      "tool_calls": [{"id": "q", "name": "search_web", "args": {"query": "tides"}, "type": "tool_call"}]}}', null,
     1000, 10, 50, 5, 0.0004, '2026-01-05 10:00:02Z', 900, 1),
    ('research-old', 2, 'reason', 1, 'google_genai:gemini-2.5-flash', '{"type": "ai", "data": {"content": "",
      "tool_calls": [{"id": "f", "name": "fetch_url", "args": {"url": "https://www.sea.example/tides"}, "type": "tool_call"},
                     {"id": "g", "name": "fetch_url", "args": {"url": "https://blocked.example/"}, "type": "tool_call"},
                     {"id": "h", "name": "fetch_url", "args": {"url": "https://sea.example/guess"}, "type": "tool_call"}]}}', null,
     2000, 0, 60, 0, 0.0008, '2026-01-05 10:00:05Z', 800, 1),
    ('research-old', 3, 'reason', 1, 'google_genai:gemini-2.5-flash', '{"type": "ai", "data": {"content": "DONE",
      "tool_calls": []}}', null, 3000, 0, 5, 0, 0.001, '2026-01-05 10:08Z', 700, 1),
    ('research-old', 3, 'write', 1, 'extractive', '{"type": "ai", "data": {"content": "- The moon. [1]", "tool_calls": []}}',
     null, 0, 0, 0, 0, 0, '2026-01-05 10:08:30Z', 3, 1);

insert into research.pages (content_hash, url, title, kind, media_type, author, site, published, language, text) values
    ('aaaa', 'https://www.sea.example/tides', 'Tides', 'page', 'text/html', '', '', '', 'en', 'Tides. The moon causes them.');
insert into research.page_addresses values
    ('https://sea.example/tides', 'https://www.sea.example/tides', 'aaaa', '2026-01-05 10:00:06Z');

insert into research.tool_calls (thread_id, step, tool_call_id, tool, args, status, content, artifact, started_at, latency_ms,
                                 lease_token) values
    ('research-old', 1, 'q', 'search_web', '{"query": "tides"}', 'success', 'Results …', '{"hits": [
      {"url": "https://blocked.example/", "title": "Blocked", "snippet": "…", "source": "brave", "published": ""},
      {"url": "https://www.sea.example/tides", "title": "All about tides", "snippet": "moon", "source": "brave", "published": ""}]}',
     '2026-01-05 10:00:03Z', 400, 1),
    ('research-old', 2, 'f', 'fetch_url', '{"url": "https://www.sea.example/tides"}', 'success', 'Tides …',
     '{"hits": [{"url": "https://www.sea.example/tides"}], "citation": {"content_hash": "aaaa"}}', '2026-01-05 10:00:06Z', 900, 1),
    ('research-old', 2, 'g', 'fetch_url', '{"url": "https://blocked.example/"}', 'error', 'blocked.example does not let …', null,
     '2026-01-05 10:00:06Z', 300, 1),
    ('research-old', 2, 'h', 'fetch_url', '{"url": "https://sea.example/guess"}', 'error', 'no such page', null,
     '2026-01-05 10:00:06Z', 200, 1);

insert into research.citations (thread_id, number, url, title, kind, content_hash, first_step, passages, lease_token) values
    ('research-old', 1, 'https://www.sea.example/tides', 'Tides', 'page', 'aaaa', 2, '[{"start": 0, "end": 28}]', 1);

insert into research.claims values
    ('research-old', 1, 1, 'The moon causes tides.', '{1}', 'supported', '', 1, 'The moon causes them.', 1, 7, 28, '[]', 1),
    ('research-old', 2, 2, 'The wind causes tides.', '{1}', 'not', 'the cited passages do not say this', 0, '', 0, 0, 0, '[]', 1);

-- Since then another process took the first run up, and found nothing to do: its rows carry a token that is not the current one.
update research.leases set token = 2 where thread_id = 'research-old';
