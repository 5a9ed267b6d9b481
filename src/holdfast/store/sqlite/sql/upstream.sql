-- upstream: one upstream.
select name, revision, body from holdfast_upstream where name = :name
