-- The user's own retrieval tests, and the searches they are learned from. All of it belongs to this machine:
-- never synced, never exported. Answers are named by sync id, so an export and an import of the memory keep them.

-- `project` is where the question is asked from, '' being every project. `folded` is the question without case and
-- spacing, so that the same one is kept once. `silent`: this memory should find nothing.
create table eval_questions (
    id integer primary key autoincrement,
    project text not null default '',
    question text not null,
    folded text not null,
    origin text not null check (origin in ('user', 'learned')),
    silent integer not null default 0 check (silent in (0, 1)),
    times integer not null default 1,
    created_at text not null,
    last_at text not null,
    unique (project, folded)
) strict;
create index eval_questions_learned on eval_questions (origin, last_at);

create table eval_answers (
    question_id integer not null references eval_questions (id) on delete cascade,
    sync_id text not null,
    times integer not null default 1,
    last_at text not null,
    primary key (question_id, sync_id)
) strict, without rowid;

-- The run that later runs are compared with. `facts` is JSON: the versions it was made with.
create table eval_runs (
    id integer primary key,
    kept_at text not null,
    facts text not null
) strict;

create table eval_outcomes (
    run_id integer not null references eval_runs (id) on delete cascade,
    question_id integer not null references eval_questions (id) on delete cascade,
    outcome text not null check (outcome in ('found', 'missed', 'silent', 'answered', 'lost')),
    rank integer,
    ndcg real not null default 0,
    primary key (run_id, question_id)
) strict, without rowid;
create index eval_outcomes_question on eval_outcomes (question_id);

-- The last searches of commands, which are one process each; a server keeps its own in memory.
create table search_trail (
    id integer primary key,
    question text not null,
    projects text,
    ids text not null,
    searched_at text not null
) strict;
