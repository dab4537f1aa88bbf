-- What a room asks of newcomers before it gives them a place. The default is of its own time: a later one does not move it.

ALTER TABLE rooms ADD COLUMN challenge TEXT NOT NULL DEFAULT 'off';

ALTER TABLE rooms ADD COLUMN challenge_difficulty BIGINT NOT NULL DEFAULT 10000;
