-- PostgreSQL's index of the messages that wait is made anew here; SQLite's serves as it is.
select 1;
