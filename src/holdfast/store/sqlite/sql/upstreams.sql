-- upstreams: every upstream that anything is known about.
select name, revision, body from holdfast_upstream order by name
