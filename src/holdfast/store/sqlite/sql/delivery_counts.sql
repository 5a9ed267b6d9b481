-- delivery_counts: how many deliveries of each provider are in each state that has not ended well.
select delivery.provider, delivery.state, count(*)
  from holdfast_delivery as delivery
 where delivery.state <> 'sent'
 group by delivery.provider, delivery.state
 order by delivery.provider, delivery.state
