-- verify_delivery_began_when_in_doubt: a delivery that may have been accepted says since when.
select delivery.id
  from holdfast.delivery
 where delivery.state in ('sending', 'unknown')
   and delivery.began_at is null
 limit 1000
