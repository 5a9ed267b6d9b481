-- What a token allows besides its role, as a JSON list of names; null for nothing.
alter table holdfast_api_token add column permissions text;
