namespace Millrace.Quic.Connections;

/// <summary>The end of a connection (RFC 9000, section 10).</summary>
internal enum CloseStage : byte
{
    Open,

    /// <summary>This end sent CONNECTION_CLOSE, and repeats it for packets that still come, ever more rarely.</summary>
    Closing,

    /// <summary>The peer has closed, or a stateless reset came: nothing is sent.</summary>
    Draining,

    /// <summary>Nothing is left; the endpoint forgets the connection.</summary>
    Closed,
}

/// <summary>Decides, after the end of a connection, what is still sent and until when it is known (RFC 9000, section 10.2).</summary>
internal sealed class CloseState
{
    private const long AmplificationFactor = 3;

    private long _endsAt = QuicClock.Never;
    private long _received;
    private long _nextReply = 1;
    private long _allowance;
    private int _closeLength;
    private bool _isClosePending;

    public CloseStage Stage { get; private set; }

    public bool IsOpen => Stage == CloseStage.Open;

    public long NextTimeout => Stage is CloseStage.Closing or CloseStage.Draining ? _endsAt : QuicClock.Never;

    /// <summary>A CONNECTION_CLOSE is to be sent.</summary>
    public bool IsClosePending => Stage == CloseStage.Closing && _isClosePending;

    public void EnterClosing(long probeTimeout, long now)
    {
        if (Stage == CloseStage.Open)
        {
            Stage = CloseStage.Closing;
            _isClosePending = true;
            _endsAt = QuicClock.After(now, 3 * probeTimeout);
        }
    }

    public void EnterDraining(long probeTimeout, long now)
    {
        if (Stage is CloseStage.Open or CloseStage.Closing)
        {
            // A closing connection keeps its deadline (section 10.2.2).
            _endsAt = Stage == CloseStage.Closing ? _endsAt : QuicClock.After(now, 3 * probeTimeout);
            Stage = CloseStage.Draining;
        }
    }

    /// <summary>The connection ends without a word: it was idle, or has no path.</summary>
    public void End() => Stage = CloseStage.Closed;

    /// <summary>
    /// A datagram came while closing, of whomever: replies are sent to the 1st, 2nd, 4th, 8th, if together they have no more than three
    /// times the bytes of what came (section 10.2.1).
    /// </summary>
    public void OnReceived(int length)
    {
        if (Stage != CloseStage.Closing)
        {
            return;
        }

        _allowance += AmplificationFactor * length;
        if (++_received >= _nextReply && _allowance >= _closeLength && !_isClosePending)
        {
            _nextReply = 2 * _received;
            _allowance -= _closeLength;
            _isClosePending = true;
        }
    }

    public void OnCloseSent(int length)
    {
        _isClosePending = false;
        _closeLength = length;
    }

    public void OnTimeout(long now)
    {
        if (now >= NextTimeout)
        {
            Stage = CloseStage.Closed;
        }
    }
}
