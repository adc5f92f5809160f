-- wrk's own figures as one line of JSON. Only done() is defined: a function that is called for each
-- request or response would cost the load generator its core.
function done(summary, latency)
  local errors = summary.errors
  io.stderr:write(string.format(
    '{"requests": %d, "duration_us": %d, "bytes": %d, "p50_us": %d, "p99_us": %d, "p999_us": %d, ' ..
    '"connect": %d, "read": %d, "write": %d, "timeout": %d, "status": %d}\n',
    summary.requests, summary.duration, summary.bytes, latency:percentile(50), latency:percentile(99), latency:percentile(99.9),
    errors.connect, errors.read, errors.write, errors.timeout, errors.status))
end
