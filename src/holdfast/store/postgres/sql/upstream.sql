-- upstream: one upstream.
select name, revision, body from holdfast.upstream where name = %(name)s
