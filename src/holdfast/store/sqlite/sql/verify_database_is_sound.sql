-- verify_database_is_sound: the file is what SQLite wrote.
select quick_check from pragma_quick_check where quick_check <> 'ok'
