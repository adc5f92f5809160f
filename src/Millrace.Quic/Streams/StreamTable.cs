using Millrace.Quic.Frames;

namespace Millrace.Quic.Streams;

/// <summary>
/// The open streams of a connection. Nothing is kept of closed ones but their count, and streams that the peer may open but has not cost
/// nothing. Errors of the peer are returned. One thread.
/// </summary>
internal sealed class StreamTable(ConnectionStreams connection, bool isServer, StreamSettings settings, SendBudget budget, StreamPool pool)
{
    private readonly Dictionary<long, QuicStream> _open = [];
    private PeerStreamLimits _peer;
    private QuicStream? _last;

    public StreamCounts Bidirectional { get; } = new(settings.BidirectionalStreamsMax);

    public StreamCounts Unidirectional { get; } = new(settings.UnidirectionalStreamsMax);

    public int Count => _open.Count;

    public Dictionary<long, QuicStream>.ValueCollection All => _open.Values;

    public StreamCounts CountsOf(bool isBidirectional) => isBidirectional ? Bidirectional : Unidirectional;

    public void ApplyPeerLimits(in PeerStreamLimits limits)
    {
        _peer = limits;
        Bidirectional.TryRaise(limits.MaxStreamsBidi);
        Unidirectional.TryRaise(limits.MaxStreamsUni);
    }

    /// <summary>Opens a stream of this end's, which its counts allow.</summary>
    public QuicStream Open(bool isBidirectional) =>
        Create(StreamId.Create(CountsOf(isBidirectional).Open(), isServer, isBidirectional), isPeers: false);

    /// <summary>An open stream; null if it is closed or was never open.</summary>
    public QuicStream? Find(long id)
    {
        if (_last is not { IsOpen: true } || _last.Id != id)
        {
            _last = _open.GetValueOrDefault(id);
        }

        return _last;
    }

    /// <summary>
    /// The stream of a frame about its receiving side (<paramref name="isForReceiver"/>) or its sending side, as this end sees them. If
    /// the peer opens it thereby, all of its kind with lower ids are opened, too (RFC 9000, section 3.2). Null if it is closed.
    /// </summary>
    public QuicError? FindOrOpen(long id, bool isForReceiver, FrameType type, out QuicStream? stream)
    {
        bool isPeers = StreamId.IsOfServer(id) != isServer;
        bool isBidirectional = StreamId.IsBidirectional(id);
        StreamCounts counts = CountsOf(isBidirectional);
        long index = StreamId.IndexOf(id);
        stream = null;
        if (!isBidirectional && isPeers != isForReceiver)
        {
            return new QuicError(TransportErrorCode.StreamStateError, "the stream has no such side", type);
        }

        if (!isPeers)
        {
            stream = Find(id);
            return index < counts.Opened ? null : new QuicError(TransportErrorCode.StreamStateError, "the stream was not opened", type);
        }

        if (index >= counts.PeerLimit)
        {
            return new QuicError(TransportErrorCode.StreamLimitError, "too many streams", type);
        }

        while (index >= counts.PeerOpened)
        {
            connection.OnOpened(Create(StreamId.Create(counts.OpenPeers(), !isServer, isBidirectional), isPeers: true));
        }

        stream = Find(id);
        return null;
    }

    /// <summary>Forgets a stream. Its object is not given back yet.</summary>
    public void Close(QuicStream stream)
    {
        _open.Remove(stream.Id);
        stream.IsOpen = false;
        _last = null;
        if (stream.IsPeers)
        {
            CountsOf(stream.IsBidirectional).ClosePeers();
        }
    }

    public void Clear()
    {
        _open.Clear();
        _last = null;
    }

    private QuicStream Create(long id, bool isPeers)
    {
        QuicStream stream = pool.Rent();
        stream.Open(connection, id, isPeers);
        bool isBidirectional = StreamId.IsBidirectional(id);
        if (isBidirectional || !isPeers)
        {
            long limit = !isBidirectional ? _peer.MaxStreamDataUni : isPeers ? _peer.MaxStreamDataBidiLocal : _peer.MaxStreamDataBidiRemote;
            stream.Send.Open(limit, settings.UnsentBytesMax, budget);
        }

        if (isBidirectional || isPeers)
        {
            stream.Receive.Open(settings.StreamWindowBytes, settings.StreamWindowBytesMax);
        }

        _open.Add(id, stream);
        return stream;
    }
}
