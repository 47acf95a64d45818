-- How far a model can be trusted is told by what it finds for a question, no longer measured beforehand.
drop table if exists vector_trust;
