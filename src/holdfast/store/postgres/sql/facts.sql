-- facts: what an operator should know of the server.
select name, setting
  from pg_settings
 where name in ('server_version', 'synchronous_commit', 'fsync', 'full_page_writes',
                'default_transaction_read_only', 'max_connections')
 order by name
