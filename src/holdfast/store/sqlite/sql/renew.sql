-- renew: extend a lease that is still held; the revision stays, as a finish may be in flight.
update holdfast_job
   set lease_until = ?
 where id = ?
   and token = ?
   and state = 'processing'
   and holder = ?
