"""Services that look after what is stored: leases, deadlines, retention, counts, replays."""
