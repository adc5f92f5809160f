using System.Buffers;
using System.Diagnostics;
using Millrace.Engine.Connections;
using Millrace.Http;
using Millrace.HttpServer.Sessions;
using Millrace.Quic.Streams;

namespace Millrace.HttpServer.Http3;

/// <summary>
/// One request and its response (RFC 9114, section 4.1), from the opening of its QUIC stream until that is closed. Reused for other
/// requests, also of other connections. Reactor thread only.
/// </summary>
internal sealed class Http3Stream : RequestStream
{
    private QuicStream? _quic;
    private byte[]? _kept;
    private int _keptStart;
    private int _keptEnd;
    private bool _finishes;

    /// <summary>Null for a stream that is not in use.</summary>
    public Http3Streams? Streams { get; private set; }

    /// <summary>Valid until the stream is closed.</summary>
    public QuicStream Quic => _quic!;

    public long Id { get; private set; }

    public ResponseState State { get; set; }

    /// <summary>What is received of the request.</summary>
    public Http3RequestInput Input { get; } = new();

    /// <summary>Detects a client that opens the window too slowly; created on first use, and kept.</summary>
    public WindowTimeout? WindowTimeout { get; set; }

    /// <summary>Bytes of the DATA frame whose header was written last that are still to be written.</summary>
    public long FrameRemaining { get; set; }

    /// <summary>Whether it was reset, by this end or the client: nothing of its request or response is of use any more.</summary>
    public bool IsCut { get; set; }

    /// <summary>Created on first use, and kept.</summary>
    public Http3ProxiedStream OwnProxied => (Http3ProxiedStream)(Proxied ??= new Http3ProxiedStream());

    /// <summary>Its index among the streams of its connection.</summary>
    public int Index { get; set; }

    /// <summary>The offset in the stream at which what was written ends.</summary>
    public long WrittenEnd => Quic.Send.Buffer.End + _keptEnd - _keptStart;

    /// <summary>Bytes that the client lets this stream carry beyond those written; negative if more were written.</summary>
    public long Window => Quic.Send.Limit - Quic.Send.Buffer.End;

    private bool HasKept => _keptEnd > _keptStart;

    public void Begin(Http3Streams streams, ConnectionHoldings? holdings, QuicStream quic)
    {
        BeginShared(holdings);
        Streams = streams;
        Priority = StreamPriority.Default;
        Request = default;
        _quic = quic;
        Id = quic.Id;
        quic.Tag = this;
    }

    /// <summary>Whether so many bytes find room at once.</summary>
    public bool HasRoom(long bytes) => !HasKept && Quic.Room >= bytes;

    /// <summary>Writes frames other than those of a long body. What finds no room is kept, and is written before anything else.</summary>
    public void Write(ReadOnlySpan<byte> bytes)
    {
        int written = HasKept ? 0 : Quic.Write(bytes);
        if (written < bytes.Length && Quic.Send.IsWritable)
        {
            Keep(bytes[written..]);
        }
    }

    /// <summary>Writes a part of a body after all that was kept; returns how much found room.</summary>
    public int WriteBody(int wanted)
    {
        Debug.Assert(!HasKept);
        ReadOnlySpan<byte> bytes = Body.Next(wanted);
        if (!Body.IsInMemory)
        {
            return Quic.Write(bytes);
        }

        // The body keeps the snapshot until the client has all of it, or this object is closed or cut: QUIC does not read it after that.
        Body.IsReferenced = true;
        return Quic.WriteReferenced(bytes);
    }

    /// <summary>Writes what was kept; false if there is no room for all of it, and <see cref="StreamEvents.Writable"/> follows.</summary>
    public bool TryWriteKept()
    {
        if (HasKept)
        {
            _keptStart += Quic.Write(_kept.AsSpan(_keptStart, _keptEnd - _keptStart));
            if (HasKept)
            {
                return false;
            }

            DropKept();
        }

        if (_finishes)
        {
            _finishes = false;
            Quic.Finish();
        }

        return true;
    }

    /// <summary>Ends the response's side after what was written.</summary>
    public void Finish()
    {
        _finishes = HasKept;
        if (!_finishes)
        {
            Quic.Finish();
        }
    }

    /// <summary>
    /// Releases the snapshot of a response that the client has acknowledged: it may leave its own side of the stream open for ever.
    /// </summary>
    public void ReleaseDelivered()
    {
        if (IsAnswered && Body.IsReferenced && !Quic.Send.Buffer.HasReferenced)
        {
            Body.Release();
        }
    }

    /// <summary>Forgets what was kept, as of a stream that is reset.</summary>
    public void DropKept()
    {
        if (_kept is not null)
        {
            Hold(-_kept.Length);
            ArrayPool<byte>.Shared.Return(_kept);
            _kept = null;
        }

        _keptStart = _keptEnd = 0;
    }

    public void Reset()
    {
        DropKept();
        Input.Reset();
        WindowTimeout?.Stop();
        ResetShared();
        Streams = null;
        _quic = null;
        State = ResponseState.Idle;
        FrameRemaining = 0;
        IsCut = _finishes = false;
    }

    protected override void OnRead() => Streams!.OnRead(this);

    protected override void OnSourceProgress() => Streams!.OnSourceProgress(this);

    /// <summary>
    /// Rare: a block of the stream is larger than most heads, and the client's window is as well. The memory is the array pool's.
    /// </summary>
    private void Keep(ReadOnlySpan<byte> bytes)
    {
        int count = _keptEnd - _keptStart;
        byte[] larger = ArrayPool<byte>.Shared.Rent(count + bytes.Length);
        _kept.AsSpan(_keptStart, count).CopyTo(larger);
        bytes.CopyTo(larger.AsSpan(count));
        DropKept();
        _kept = larger;
        _keptEnd = count + bytes.Length;
        Hold(larger.Length);
    }
}

/// <summary>What a response waits for.</summary>
internal enum ResponseState : byte
{
    /// <summary>Nothing: there is no response, or all of it is written.</summary>
    Idle,

    /// <summary>Its own code, which runs.</summary>
    Writing,

    /// <summary>Room in its QUIC stream: the network, or the client's window.</summary>
    Room,

    /// <summary>The disk.</summary>
    Reading,

    /// <summary>The producer of its body.</summary>
    Producer,

    /// <summary>Chunks of other streams to be sent: read-ahead is limited.</summary>
    ReadAhead,
}
