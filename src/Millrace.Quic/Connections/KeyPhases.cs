using Millrace.Quic.Protection;

namespace Millrace.Quic.Connections;

/// <summary>Which 1-RTT keys open a packet.</summary>
internal enum KeyGeneration : byte
{
    Current,
    Previous,
    Next,

    /// <summary>
    /// The keys are discarded. The next ones stand in for them: the packet takes as much time as any other, and does not open.
    /// </summary>
    Discarded,
}

/// <summary>
/// The 1-RTT keys of a connection over their updates (RFC 9001, section 6): current, next and, for a while, previous keys to receive, and
/// current keys to send. It owns all of them. Counts packets against the limits of section 6.6.
/// </summary>
internal sealed class KeyPhases : IDisposable
{
    /// <summary>Updates begin well before the limit, since one may have to wait for an acknowledgement.</summary>
    private const int LimitDivisor = 2;

    /// <summary>Packets of the limit that are left for CONNECTION_CLOSE, which is repeated.</summary>
    private const int CloseReserve = 32;

    private readonly long _updateAfter;
    private PacketProtector? _sending;
    private PacketProtector? _receiving;
    private PacketProtector? _previous;
    private PacketProtector? _next;
    private long _sent;
    private long _firstSentNumber = -1;
    private long _firstReceivedNumber = long.MaxValue;
    private long _previousEndsAt = QuicClock.Never;
    private bool _isAcknowledged;

    /// <summary>
    /// <paramref name="updateAfter"/>: packets after which this end updates its keys, if the limit of the cipher is not lower.
    /// </summary>
    public KeyPhases(long updateAfter) => _updateAfter = updateAfter;

    public bool CanSend => _sending is not null;

    public bool CanReceive => _receiving is not null;

    /// <summary>The key phase bit of packets that are sent.</summary>
    public bool Phase { get; private set; }

    /// <summary>Key updates so far, of both ends together.</summary>
    public int Updates { get; private set; }

    public PacketProtector Sending => _sending!;

    /// <summary>The keys of the header: the same over all updates.</summary>
    public PacketProtector Header => _receiving!;

    /// <summary>When the previous keys end.</summary>
    public long NextTimeout => _previousEndsAt;

    /// <summary>No packet but a close may be sent any more: AEAD_LIMIT_REACHED, as the peer acknowledges nothing.</summary>
    public bool IsSendingExhausted => _sending is not null && _sent >= _sending.ConfidentialityLimit - CloseReserve;

    public long IntegrityLimit => _receiving?.IntegrityLimit ?? long.MaxValue;

    public void InstallSending(PacketProtector protector) => _sending = protector;

    public void InstallReceiving(PacketProtector protector)
    {
        protector.PrepareToOpen();
        _receiving = protector;
        _next = MakeNext(protector);
    }

    /// <summary>
    /// Chooses keys by the bit and the number of a packet. There are keys for every packet, which exist already, so that the time that it
    /// takes does not show the bit (RFC 9001, sections 6.3 and 9.5).
    /// </summary>
    public KeyGeneration Choose(bool phase, long number)
    {
        if (phase == Phase)
        {
            return KeyGeneration.Current;
        }

        if (number < _firstReceivedNumber && Updates > 0)
        {
            return _previous is null ? KeyGeneration.Discarded : KeyGeneration.Previous;
        }

        return KeyGeneration.Next;
    }

    public PacketProtector? Receiving(KeyGeneration generation) => generation switch
    {
        KeyGeneration.Current => _receiving,
        KeyGeneration.Previous => _previous,
        _ => _next,
    };

    /// <summary>A packet was opened. The peer's update of keys is followed here.</summary>
    /// <returns>
    /// False: KEY_UPDATE_ERROR, an update before this end confirmed the last one (section 6.2), or newer keys at a lower number (section
    /// 6.4).
    /// </returns>
    public bool TryAccept(KeyGeneration generation, long number, long probeTimeout, long now)
    {
        if (generation == KeyGeneration.Previous)
        {
            return true;
        }

        if (generation == KeyGeneration.Discarded)
        {
            return false;
        }

        if (generation == KeyGeneration.Next)
        {
            // The peer may only update again after we acknowledged a packet of its current keys, for which we must have sent with ours.
            if (Updates > 0 && _sent == 0)
            {
                return false;
            }

            Advance();
            _firstReceivedNumber = number;
            _previousEndsAt = QuicClock.After(now, 3 * probeTimeout);
            return true;
        }

        if (_previous is not null && _previousEndsAt == QuicClock.Never)
        {
            // The peer has followed this end's update: what it sent before is received within three probe timeouts, or lost.
            _previousEndsAt = QuicClock.After(now, 3 * probeTimeout);
        }

        _firstReceivedNumber = Math.Min(_firstReceivedNumber, number);
        return true;
    }

    /// <summary>A packet is about to be sealed with <see cref="Sending"/>.</summary>
    public void OnSending(long number)
    {
        _sent++;
        if (_firstSentNumber < 0)
        {
            _firstSentNumber = number;
        }
    }

    public void OnAcknowledged(long largestAcknowledged) =>
        _isAcknowledged |= _firstSentNumber >= 0 && largestAcknowledged >= _firstSentNumber;

    /// <summary>This end updates, if its keys have sealed enough packets and the peer has acknowledged one of them.</summary>
    public bool UpdateIfDue(bool isHandshakeConfirmed)
    {
        if (_sending is null || !isHandshakeConfirmed || _sent < Math.Min(_updateAfter, _sending.ConfidentialityLimit / LimitDivisor))
        {
            return false;
        }

        return TryUpdate(isHandshakeConfirmed);
    }

    /// <summary>
    /// Begins an update, unless the last one is not confirmed yet or its previous keys are still needed (sections 6.1, 6.5).
    /// </summary>
    public bool TryUpdate(bool isHandshakeConfirmed)
    {
        if (!isHandshakeConfirmed || !_isAcknowledged || _previous is not null || _next is null)
        {
            return false;
        }

        Advance();

        // No packet of the new generation is received yet: any number with the old bit is one of the previous generation.
        _firstReceivedNumber = long.MaxValue;
        return true;
    }

    public void OnTimeout(long now)
    {
        if (now >= _previousEndsAt)
        {
            _previous?.Dispose();
            _previous = null;
            _previousEndsAt = QuicClock.Never;
        }
    }

    public void Dispose()
    {
        _sending?.Dispose();
        _receiving?.Dispose();
        _previous?.Dispose();
        _next?.Dispose();
        _sending = _receiving = _previous = _next = null;
    }

    private static PacketProtector MakeNext(PacketProtector current)
    {
        PacketProtector next = current.Update();
        next.PrepareToOpen();
        return next;
    }

    private void Advance()
    {
        _previous?.Dispose();
        _previous = _receiving;
        _receiving = _next;
        _next = MakeNext(_receiving!);
        PacketProtector sending = _sending!.Update();
        _sending.Dispose();
        _sending = sending;
        _sent = 0;
        _firstSentNumber = -1;
        _isAcknowledged = false;
        Phase = !Phase;
        Updates++;
        _previousEndsAt = QuicClock.Never;
    }
}
