namespace Millrace.Quic.Connections;

/// <summary>
/// When a connection ends for silence (RFC 9000, section 10.1), when a handshake has taken too long, and when a PING keeps the connection
/// alive. One connection's; its times follow from what the connection reports.
/// </summary>
internal sealed class IdleTimer
{
    private readonly long _localTimeout;
    private readonly long _keepAliveInterval;
    private readonly long _handshakeDeadline;
    private long _timeout;
    private long _restartedAt;
    private bool _hasSentSinceReceive;
    private bool _isHandshakeComplete;

    /// <summary>Times of 0 are off.</summary>
    public IdleTimer(long localTimeout, long keepAliveInterval, long handshakeTimeout, long now)
    {
        _localTimeout = localTimeout;
        _timeout = localTimeout;
        _keepAliveInterval = keepAliveInterval;
        _handshakeDeadline = handshakeTimeout == 0 ? QuicClock.Never : QuicClock.After(now, handshakeTimeout);
        _restartedAt = now;
    }

    /// <summary>The effective timeout: the shorter of both ends', if both have one; 0 if none has.</summary>
    public long Timeout => _timeout;

    public void ApplyPeerTimeout(long peerTimeout) =>
        _timeout = peerTimeout == 0 ? _localTimeout : _localTimeout == 0 ? peerTimeout : Math.Min(_localTimeout, peerTimeout);

    public void OnHandshakeComplete() => _isHandshakeComplete = true;

    /// <summary>A packet was received and opened.</summary>
    public void OnReceived(long now)
    {
        _restartedAt = now;
        _hasSentSinceReceive = false;
    }

    /// <summary>An ack-eliciting packet was sent: only the first after a received one restarts the timer.</summary>
    public void OnAckElicitingSent(long now)
    {
        if (!_hasSentSinceReceive)
        {
            _hasSentSinceReceive = true;
            _restartedAt = now;
        }
    }

    /// <summary>When the connection ends: it is never shorter than three probe timeouts.</summary>
    public long Deadline(long probeTimeout)
    {
        long idle = _timeout == 0 ? QuicClock.Never : QuicClock.After(_restartedAt, Math.Max(_timeout, 3 * probeTimeout));
        return _isHandshakeComplete ? idle : Math.Min(idle, _handshakeDeadline);
    }

    /// <summary>When a PING is due, if the application wants the connection kept alive.</summary>
    public long KeepAliveAt
    {
        get
        {
            if (_keepAliveInterval == 0 || !_isHandshakeComplete || _hasSentSinceReceive)
            {
                return QuicClock.Never;
            }

            long interval = _timeout == 0 ? _keepAliveInterval : Math.Min(_keepAliveInterval, _timeout / 2);
            return QuicClock.After(_restartedAt, interval);
        }
    }
}
