using Millrace.Http;
using Millrace.HttpServer.Sessions;

namespace Millrace.HttpServer.Http2;

/// <summary>What the HTTP/2 sessions of one reactor share beside <see cref="SessionReactorState"/>. Reactor thread only.</summary>
internal sealed class Http2ReactorState(HeadLimits limits)
{
    /// <summary>Streams kept for reuse; the garbage collector takes more than these.</summary>
    private const int StreamsKept = 1_024;

    private readonly Stack<Http2Stream> _streams = new();
    private byte[] _scratch = [];

    public RequestFields Fields { get; } = new(limits);

    public Span<byte> ScratchFor(int blockBytes)
    {
        int bytes = HpackDecoder.ScratchBytes(blockBytes);
        if (_scratch.Length < bytes)
        {
            _scratch = new byte[Math.Max(bytes, 16 * 1024)];
        }

        return _scratch;
    }

    public Http2Stream RentStream() => _streams.TryPop(out Http2Stream? stream) ? stream : new Http2Stream();

    public void Return(Http2Stream stream)
    {
        stream.Reset();
        if (_streams.Count < StreamsKept)
        {
            _streams.Push(stream);
        }
    }
}
