-- deliveries_unknown: unknown deliveries that nobody has looked up of late; uses its index.
select @delivery_columns@
  from holdfast_delivery as delivery
 where delivery.state = 'unknown'
   and delivery.provider = :provider
   and coalesce(delivery.checked_at, 0) <= :until
 order by delivery.id
 limit :limit
