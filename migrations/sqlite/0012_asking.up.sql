-- When the question to a session's provider began that has no answer yet. The same
-- nouns as the Postgres migration of this number, which explains them.
ALTER TABLE sessions ADD COLUMN asking INTEGER;
