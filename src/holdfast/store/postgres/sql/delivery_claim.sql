-- delivery_claim: lease due deliveries of one provider, longest due first; uses delivery_due.
with due as (
    select candidate.id
      from holdfast.delivery as candidate
     where candidate.state in ('intent', 'sending')
       and candidate.provider = %(provider)s
       and candidate.run_at <= %(now)s
       and candidate.holder is null
     order by candidate.run_at, candidate.id
     limit %(limit)s
       for update skip locked
)
update holdfast.delivery
   set revision = delivery.revision + 1,
       holder = %(holder)s,
       lease_until = %(lease_until)s,
       run_at = %(lease_until)s
  from due
 where delivery.id = any(array[due.id])
returning @delivery_columns@
