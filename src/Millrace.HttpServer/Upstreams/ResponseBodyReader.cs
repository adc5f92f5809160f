using System.Diagnostics;
using Millrace.Http;

namespace Millrace.HttpServer.Upstreams;

/// <summary>How far the body of a response is.</summary>
internal enum BodyProgress : byte
{
    Open,
    Complete,

    /// <summary>The chunked coding is invalid.</summary>
    Malformed,

    /// <summary>The connection ended before the body.</summary>
    Cut,
}

/// <summary>
/// Finds the bytes of a response's body in the input of its connection: they are at the front of the input, and their framing is dropped
/// from it. Owned by the exchange. Reactor thread only.
/// </summary>
internal sealed class ResponseBodyReader
{
    /// <summary>How far behind a chunk its body's end is looked for: it is five bytes, if there are no trailers.</summary>
    private const int LookAheadBytes = 16;

    private ResponseBodyFraming _framing;
    private ChunkedDecoder _chunks;
    private long _remaining;
    private byte[] _trailers = [];
    private int _trailerBytes;

    /// <summary>Whether the upstream has ended its direction.</summary>
    public bool HasInputEnded { get; set; }

    /// <summary>Bytes of the body at the front of the input.</summary>
    public int AvailableBytes { get; private set; }

    /// <summary>How many bytes of a tunnel are still passed on where it has ended as a whole; otherwise more than there can be.</summary>
    public long TunnelBytesLeft { get; private set; }

    /// <summary>Whether nothing follows what is available.</summary>
    public bool IsLast { get; private set; }

    /// <summary>-1 if it is not known.</summary>
    public long RemainingBytes => _framing is ResponseBodyFraming.Length or ResponseBodyFraming.None ? _remaining : -1;

    public ReadOnlySpan<byte> TrailerLines => _trailers.AsSpan(0, _trailerBytes);

    public ChunkedRefusal Refusal => _chunks.Refusal;

    /// <summary>A new connection.</summary>
    public void Reset()
    {
        HasInputEnded = IsLast = false;
        _trailerBytes = AvailableBytes = 0;
        TunnelBytesLeft = long.MaxValue;
    }

    public void Begin(ResponseHead head)
    {
        _framing = head.Body;
        _remaining = head.Body == ResponseBodyFraming.Length ? head.ContentLength : 0;
        _chunks = default;
    }

    /// <summary>Ends a tunnel with the bytes that are there.</summary>
    public void EndTunnel(int bytes)
    {
        HasInputEnded = true;
        TunnelBytesLeft = bytes;
    }

    /// <summary>Bytes at the front of the input were taken, of the body or the tunnel.</summary>
    public void Consume(int count)
    {
        TunnelBytesLeft -= count;
        AvailableBytes -= count;
        _remaining -= _framing == ResponseBodyFraming.Length ? count : 0;
    }

    /// <summary>Bytes of the body went to the client without being input here; its length is known.</summary>
    public void Skip(long count)
    {
        Debug.Assert(_framing == ResponseBodyFraming.Length && AvailableBytes == 0 && count <= _remaining);
        _remaining -= count;
    }

    /// <summary>Looks at the input again.</summary>
    /// <param name="input">The input; the available bytes are at its front.</param>
    /// <param name="isReset">Whether the connection did not end in order.</param>
    /// <param name="framing">How many bytes at the front of the input are to be dropped.</param>
    public BodyProgress Advance(ReadOnlySpan<byte> input, bool isReset, out int framing)
    {
        framing = 0;
        switch (_framing)
        {
            case ResponseBodyFraming.Chunked:
                return AdvanceChunks(input, out framing);
            case ResponseBodyFraming.UntilClose:
                AvailableBytes = input.Length;
                IsLast = HasInputEnded;
                return isReset ? BodyProgress.Cut : IsLast && input.IsEmpty ? BodyProgress.Complete : BodyProgress.Open;
            default:
                AvailableBytes = (int)Math.Min(_remaining, input.Length);
                IsLast = AvailableBytes == _remaining;
                return _remaining == 0 ? BodyProgress.Complete
                    : IsLast || !HasInputEnded ? BodyProgress.Open
                    : BodyProgress.Cut;
        }
    }

    private BodyProgress AdvanceChunks(ReadOnlySpan<byte> input, out int framing)
    {
        framing = 0;
        if (AvailableBytes > 0)
        {
            LookAhead(input[AvailableBytes..]);
            return BodyProgress.Open;
        }

        ChunkedStatus status = _chunks.Read(input, out int consumed, out TextRange data, out TextRange trailers);
        KeepTrailers(trailers.In(input));
        framing = status == ChunkedStatus.Data ? data.Start : consumed;
        AvailableBytes = data.Length;
        LookAhead(input[consumed..]);
        return status switch
        {
            ChunkedStatus.Done => BodyProgress.Complete,
            ChunkedStatus.Refused => BodyProgress.Malformed,
            ChunkedStatus.NeedsMore when HasInputEnded => BodyProgress.Cut,
            _ => BodyProgress.Open,
        };
    }

    /// <summary>
    /// Whether the body's end, without trailers, stands behind the available bytes: the session can then send them as the last ones.
    /// </summary>
    private void LookAhead(ReadOnlySpan<byte> next)
    {
        ChunkedDecoder copy = _chunks;
        IsLast = next.Length is > 0 and <= LookAheadBytes
            && _trailerBytes == 0
            && copy.Read(next, out _, out _, out TextRange trailers) == ChunkedStatus.Done
            && trailers.IsEmpty;
    }

    private void KeepTrailers(ReadOnlySpan<byte> lines)
    {
        if (lines.IsEmpty)
        {
            return;
        }

        if (_trailers.Length == 0)
        {
            _trailers = new byte[ChunkedDecoder.TrailerBytesMax];
        }

        lines.CopyTo(_trailers.AsSpan(_trailerBytes));
        _trailerBytes += lines.Length;
    }
}
