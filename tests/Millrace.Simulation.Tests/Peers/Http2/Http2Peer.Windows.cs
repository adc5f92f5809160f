using Millrace.Tests.Shared;

namespace Millrace.Simulation.Tests.Peers.Http2;

/// <content>
/// What the peer lets the server send. An opening counts for what may come as soon as it is said, and for what has to come when it is sent:
/// it waits behind all that was said before.
/// </content>
internal sealed partial class Http2Peer
{
    private const int DefaultWindowBytes = 65_535;

    /// <summary>Openings that are not sent: after which byte they are, of which stream (null: of the connection), and how far.</summary>
    private readonly Queue<(long EndsAt, Http2Exchange? Stream, int Bytes)> _openings = [];
    private readonly WindowCredit _credit;
    private long _window = DefaultWindowBytes;
    private long _knownWindow = DefaultWindowBytes;
    private long _unopenedBytes;
    private long _sentBytes;

    private void TakeFromWindows(Http2Exchange? stream, int bytes)
    {
        _window -= bytes;
        _knownWindow -= bytes;
        _credit.Take(bytes);
        stream?.TakeFromKnownWindow(bytes);
        SetCredits();
    }

    private void OpenConnection(int bytes)
    {
        _unopenedBytes += bytes;
        if (Run.Upstreams is null || Outgoing.IsEmpty)
        {
            OpenPendingConnection();
        }
    }

    private void OpenStream(Http2Exchange stream, int bytes)
    {
        stream.UnopenedBytes += bytes;
        if (Run.Upstreams is null || Outgoing.IsEmpty)
        {
            OpenPending(stream);
        }
    }

    /// <summary>
    /// An upstream that answers in small pieces would have so many windows opened, one by one, that who sends little at a time were late with
    /// everything: what has gathered meanwhile is opened at once.
    /// </summary>
    private void OpenPending()
    {
        OpenPendingConnection();
        foreach (Http2Exchange stream in _streams)
        {
            OpenPending(stream);
        }
    }

    private void OpenPendingConnection()
    {
        if (_unopenedBytes > 0)
        {
            _window += _unopenedBytes;
            Open(null, (int)_unopenedBytes);
            _unopenedBytes = 0;
        }
    }

    private void OpenPending(Http2Exchange stream)
    {
        if (stream.UnopenedBytes > 0 && !stream.IsOver)
        {
            stream.OpenWindow(stream.UnopenedBytes);
            Open(stream, stream.UnopenedBytes);
        }

        stream.UnopenedBytes = 0;
    }

    private void Open(Http2Exchange? stream, int bytes)
    {
        Say(Frame.WindowUpdate(stream?.StreamId ?? 0, (uint)bytes));
        _openings.Enqueue((_sentBytes + Outgoing.Length, stream, bytes));
    }

    /// <summary>So much more is sent: the server learns of the openings within it.</summary>
    private void SendOpenings(int bytes)
    {
        _sentBytes += bytes;
        while (_openings.TryPeek(out (long EndsAt, Http2Exchange? Stream, int Bytes) opening) && opening.EndsAt <= _sentBytes)
        {
            _openings.Dequeue();
            _knownWindow += opening.Stream is null ? opening.Bytes : 0;
            opening.Stream?.OpenKnownWindow(opening.Bytes);
            SetCredits();
        }
    }

    private void SetCredits()
    {
        bool isUsedUp = _knownWindow <= 0;
        bool hasMore = false;
        foreach (Http2Exchange stream in _streams)
        {
            hasMore |= stream is { HasHead: true, IsOver: false };
            stream.SetCredit(isUsedUp);
        }

        _credit.Set(isUsedUp && hasMore);
    }
}
