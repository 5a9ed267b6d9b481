-- upstreams: every upstream that anything is known about.
select name, revision, body from holdfast.upstream order by name
