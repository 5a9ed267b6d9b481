-- verify_database_is_sound: every index is complete and every constraint holds for all rows.
select pg_class.relname::text
  from pg_index
  join pg_class on pg_class.oid = pg_index.indexrelid
 where pg_class.relnamespace = to_regnamespace('holdfast') and not pg_index.indisvalid
 union all
select conname::text
  from pg_constraint
 where connamespace = to_regnamespace('holdfast') and not convalidated
