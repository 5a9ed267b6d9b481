-- verify_delivery_state_is_known: every delivery is intent, sending, sent, failed or unknown, and failed for a reason.
select delivery.id
  from holdfast_delivery as delivery
 where delivery.state not in ('intent', 'sending', 'sent', 'failed', 'unknown')
    or (delivery.state = 'failed' and (delivery.error is null or delivery.error_class is null))
 limit 1000
