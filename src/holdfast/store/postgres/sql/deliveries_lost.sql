-- deliveries_lost: deliveries of one provider whose courier's lease has ended; uses delivery_leased.
select @delivery_columns@
  from holdfast.delivery
 where delivery.provider = %(provider)s
   and delivery.lease_until < %(now)s
   and delivery.holder is not null
 order by delivery.lease_until, delivery.id
 limit %(limit)s
