-- erase_keys_found: how many keys of an owner are kept; uses the key of the table.
select count(*) from holdfast.kept_key where owner = %(owner)s
