-- old_keys: how many keys were kept for long enough; uses kept_key_removed.
select count(*) from holdfast_kept_key where removed_at <= :removed
