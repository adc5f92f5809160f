namespace Millrace.Quic.Connections;

/// <summary>
/// The validation of one path (RFC 9000, section 8.2): challenges that this end has sent and not got back, and challenges of the peer that
/// wait for their response. Bounded: a ninth outstanding one replaces the first.
/// </summary>
internal sealed class PathChallenges
{
    private const int Kept = 8;
    private const int MaximumResponses = 4;

    private readonly ulong[] _sent = new ulong[Kept];
    private readonly bool[] _sentExpanded = new bool[Kept];
    private readonly ulong[] _responses = new ulong[MaximumResponses];
    private int _sentCount;
    private int _responseCount;
    private long _interval;
    private long _nextAt = QuicClock.Never;
    private long _endsAt = QuicClock.Never;

    /// <summary>A validation is in progress.</summary>
    public bool IsRunning => _endsAt != QuicClock.Never;

    public bool HasResponse => _responseCount > 0;

    /// <summary>When the validation has failed.</summary>
    public long EndsAt => _endsAt;

    public long NextTimeout => Math.Min(_nextAt, _endsAt);

    /// <summary>A PATH_CHALLENGE is to be sent.</summary>
    public bool IsChallengeDue(long now) => now >= _nextAt;

    public bool HasFailed(long now) => now >= _endsAt;

    /// <summary>
    /// Challenges are repeated as probes are, after twice the time of before (section 9.4); the validation fails after
    /// <paramref name="timeout"/> (section 8.2.4).
    /// </summary>
    public void Start(long probeTimeout, long timeout, long now)
    {
        if (IsRunning)
        {
            return;
        }

        _sentCount = 0;
        _interval = probeTimeout;
        _nextAt = now;
        _endsAt = QuicClock.After(now, timeout);
    }

    /// <summary>There is no connection id for the path now.</summary>
    public void Postpone(long now)
    {
        if (IsRunning)
        {
            _nextAt = QuicClock.After(now, _interval);
        }
    }

    public void Stop()
    {
        _sentCount = 0;
        _nextAt = QuicClock.Never;
        _endsAt = QuicClock.Never;
    }

    /// <summary><paramref name="isExpanded"/>: in a datagram of 1200 bytes, which proves that the path carries them.</summary>
    public void OnChallengeSent(ulong data, bool isExpanded, long now)
    {
        _sent[_sentCount % Kept] = data;
        _sentExpanded[_sentCount % Kept] = isExpanded;
        _sentCount++;
        _nextAt = QuicClock.After(now, _interval);
        _interval *= 2;
    }

    /// <summary>True: the response is one to a challenge that was sent on this path.</summary>
    public bool TryMatch(ulong data, out bool isExpanded)
    {
        for (int i = 0; i < Math.Min(_sentCount, Kept); i++)
        {
            if (_sent[i] == data)
            {
                isExpanded = _sentExpanded[i];
                return true;
            }
        }

        isExpanded = false;
        return false;
    }

    /// <summary>
    /// The peer's challenge: it gets one response. More than the table holds replace the last: the peer repeats what it needs.
    /// </summary>
    public void AddResponse(ulong data)
    {
        if (_responseCount == MaximumResponses)
        {
            _responseCount--;
        }

        _responses[_responseCount++] = data;
    }

    public ulong FirstResponse => _responses[0];

    public void RemoveResponse()
    {
        _responseCount--;
        Array.Copy(_responses, 1, _responses, 0, _responseCount);
    }
}
