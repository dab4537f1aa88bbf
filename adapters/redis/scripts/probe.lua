-- probe: writes as the operations do, into a key that nobody reads, and tells a channel that nobody hears: whether the server
-- and its ACL take that.
redis.call('XADD', KEYS[1], 'MAXLEN', 1, '*', 'probe', '1')
redis.call('EXPIRE', KEYS[1], 60)
redis.call('SPUBLISH', KEYS[1], '1')
return { 'ok' }
