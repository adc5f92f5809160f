namespace Millrace.Engine.Datagrams;

/// <summary>The counters of one socket. Written by its reactor's thread only; others read without a lock, so a reading may lag.</summary>
internal sealed class DatagramCounters
{
    /// <summary>Datagrams and their bytes, without headers.</summary>
    public long Received;
    public long ReceivedBytes;

    /// <summary>Completions of receives: with UDP_GRO each brings several datagrams.</summary>
    public long Receives;

    /// <summary>Datagrams that were dropped because they, or their control messages, did not fit.</summary>
    public long Truncated;

    /// <summary>Receives that failed.</summary>
    public long ReceiveErrors;

    /// <summary>Datagrams that the kernel has dropped because the socket's receive buffer was full (SO_RXQ_OVFL).</summary>
    public long KernelDrops;

    /// <summary>Receives that found no buffer of the reactor.</summary>
    public long ReceivesStarved;

    /// <summary>Receives whose datagrams were handled in a later iteration, because the iteration's time was over.</summary>
    public long Postponed;

    public long Sent;
    public long SentBytes;

    /// <summary>Sends, each of one or more datagrams.</summary>
    public long Sends;

    /// <summary>Sends that the kernel refused, whatever the reason; their datagrams are lost.</summary>
    public long SendErrors;

    /// <summary>Those of <see cref="SendErrors"/> that were too large for the path (EMSGSIZE).</summary>
    public long TooLarge;

    /// <summary>How often <see cref="DatagramSocket.GetSendBuffer"/> had no room.</summary>
    public long RoomMissing;
}
