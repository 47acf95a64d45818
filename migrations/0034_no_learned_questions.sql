-- Searches are no longer logged, and no question is learned from them. What was learned stays, as any other question.
drop table search_trail;
drop index eval_questions_learned;
alter table eval_questions drop column origin;
alter table eval_questions drop column times;
alter table eval_answers drop column times;
