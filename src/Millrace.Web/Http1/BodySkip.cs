using Millrace.Http;

namespace Millrace.Web.Http1;

/// <summary>How far the skipping of a body has come.</summary>
internal enum SkipResult
{
    Done,
    NeedsMore,

    /// <summary>The body is malformed or larger than one is ready to drop: where the next request starts is not known.</summary>
    GivenUp,
}

/// <summary>
/// Reads a request's body only to find its end. Bytes that are neither skipped nor refused would be taken for the next
/// request, which is how requests are smuggled past a proxy (RFC 9112, 11.2).
/// </summary>
internal struct BodySkip
{
    private BodyFraming _framing;
    private ChunkedDecoder _chunks;
    private long _left;

    /// <summary>Whether a body is being skipped.</summary>
    public readonly bool IsPending => _framing != BodyFraming.None;

    /// <summary>Starts skipping the body that a head announced; of a chunked one at most so many bytes are taken.</summary>
    public static BodySkip Of(RequestHead head, long bytesMax) => new()
    {
        _framing = head.Body,
        _left = head.Body == BodyFraming.Length ? head.ContentLength : bytesMax,
    };

    /// <summary>Takes what belongs to the body from the input.</summary>
    public SkipResult Take(ReadOnlySpan<byte> input, out int consumed)
    {
        SkipResult result = _framing == BodyFraming.Chunked ? TakeChunks(input, out consumed) : TakeBytes(input, out consumed);
        if (result == SkipResult.Done)
        {
            _framing = BodyFraming.None;
        }

        return result;
    }

    private SkipResult TakeBytes(ReadOnlySpan<byte> input, out int consumed)
    {
        consumed = (int)Math.Min(input.Length, _left);
        _left -= consumed;
        return _left == 0 ? SkipResult.Done : SkipResult.NeedsMore;
    }

    private SkipResult TakeChunks(ReadOnlySpan<byte> input, out int consumed)
    {
        consumed = 0;
        while (true)
        {
            ChunkedStatus status = _chunks.Read(input[consumed..], out int read, out TextRange data);
            consumed += read;
            _left -= data.Length;
            switch (status)
            {
                case ChunkedStatus.Done:
                    return SkipResult.Done;
                case ChunkedStatus.NeedsMore:
                    return SkipResult.NeedsMore;
                case ChunkedStatus.Refused:
                case ChunkedStatus.Data when _left < 0:
                    return SkipResult.GivenUp;
            }
        }
    }
}
