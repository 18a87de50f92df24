-- Phone numbers move to the contacts service; nothing here may keep a copy.
ALTER TABLE customers DROP COLUMN phone;

ALTER TABLE customers ADD COLUMN contact_id TEXT;
