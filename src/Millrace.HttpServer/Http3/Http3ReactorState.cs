using Millrace.Http;

namespace Millrace.HttpServer.Http3;

/// <summary>What the HTTP/3 sessions of one reactor share beside <see cref="Sessions.SessionReactorState"/>. Reactor thread only.</summary>
internal sealed class Http3ReactorState(HeadLimits limits)
{
    /// <summary>Streams kept for reuse; the garbage collector takes more than these.</summary>
    private const int StreamsKept = 1_024;

    private readonly Stack<Http3Stream> _streams = new();
    private byte[] _head = new byte[4 * 1024];
    private byte[] _scratch = [];

    /// <summary>The request that is being decoded.</summary>
    public RequestFields Fields { get; } = new(limits);

    /// <summary>Room to decode field sections and instructions; valid until the next call.</summary>
    public Span<byte> ScratchFor(int bytes)
    {
        if (_scratch.Length < bytes)
        {
            _scratch = new byte[Math.Max(bytes, 16 * 1024)];
        }

        return _scratch;
    }

    /// <summary>Room for a response's head, which is copied from here to its stream; valid until the next call.</summary>
    public Span<byte> HeadRoom(int bytes)
    {
        if (_head.Length < bytes)
        {
            _head = new byte[bytes];
        }

        return _head;
    }

    public Http3Stream RentStream() => _streams.TryPop(out Http3Stream? stream) ? stream : new Http3Stream();

    public void Return(Http3Stream stream)
    {
        stream.Reset();
        if (_streams.Count < StreamsKept)
        {
            _streams.Push(stream);
        }
    }
}
