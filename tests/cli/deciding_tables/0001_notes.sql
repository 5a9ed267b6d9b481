create table deciding.notes (id bigint);
