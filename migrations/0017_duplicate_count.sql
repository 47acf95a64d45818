-- How often a text was said, the first time included, as Engram counts: it was how often it was said again. What was
-- imported from Engram is counted so already.
update observations set duplicate_count = duplicate_count + 1 where origin <> 'import';
update observations set duplicate_count = 1 where duplicate_count < 1;
