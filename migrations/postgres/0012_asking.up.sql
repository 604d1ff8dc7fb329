-- When the question to a session's provider began that has no answer yet. Of several
-- servers one asks, since what renews a sign-in is taken once, and the others wait for
-- what it hears; asked is now when the last question began that was answered.
ALTER TABLE sessions
    ADD COLUMN asking timestamptz;
