-- delivery_standing: deliveries that have not ended well, and since when the oldest are there:
-- uses delivery_due, delivery_unknown and delivery_failed.
with standing as (
    select provider, state, created_at from holdfast.delivery where state in ('intent', 'sending')
    union all
    select provider, state, created_at from holdfast.delivery where state = 'unknown'
    union all
    select provider, state, created_at from holdfast.delivery where state = 'failed'
)
select provider, state, count(*), min(created_at)
  from standing
 group by provider, state
 order by provider, state
