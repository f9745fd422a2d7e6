-- The index of names begins anew, and is filled in the background: from now on a gram
-- is in a block with all of its parts, on which a new name relies.
DELETE FROM name_grams;
DELETE FROM name_segments;
