-- delivery_claim: lease due deliveries of one provider, longest due first; uses its index.
update holdfast_delivery as delivery
   set revision = revision + 1,
       holder = :holder,
       lease_until = :lease_until,
       run_at = :lease_until
 where rowid in (
    select candidate.rowid
      from holdfast_delivery as candidate
     where candidate.state in ('intent', 'sending')
       and candidate.provider = :provider
       and candidate.run_at <= :now
       and candidate.holder is null
     order by candidate.run_at, candidate.id
     limit :limit
 )
returning @delivery_returned@
