using Millrace.Http;

namespace Millrace.HttpServer.Http1;

/// <summary>The state of a <see cref="BodySkip"/>.</summary>
internal enum SkipResult
{
    Done,
    NeedsMore,

    /// <summary>The body is malformed or larger than the limit, so the start of the next request is not known.</summary>
    Abandoned,
}

/// <summary>
/// Reads a request body only to find its end. Bytes that are neither skipped nor refused would be read as the next request, which is how
/// requests are smuggled past a proxy (RFC 9112, section 11.2).
/// </summary>
internal struct BodySkip
{
    private RequestBody _body;
    private long _bytesLeft;

    public readonly bool IsPending => _body.IsPending;

    /// <summary>Starts to skip the body that a head announced; it may have at most <paramref name="bytesMax"/> bytes.</summary>
    public static BodySkip Of(RequestHead head, long bytesMax) => new() { _body = RequestBody.Of(head), _bytesLeft = bytesMax };

    /// <summary>Takes the bytes that belong to the body from the input.</summary>
    public SkipResult Take(ReadOnlySpan<byte> input, out int consumed)
    {
        consumed = 0;
        while (true)
        {
            ChunkedStatus status = _body.Read(input[consumed..], out int read, out TextRange data);
            consumed += read;
            _bytesLeft -= data.Length;
            switch (status)
            {
                case ChunkedStatus.Done:
                    return SkipResult.Done;
                case ChunkedStatus.NeedsMore:
                    return SkipResult.NeedsMore;
                case ChunkedStatus.Refused:
                case ChunkedStatus.Data when _bytesLeft < 0:
                    return SkipResult.Abandoned;
            }
        }
    }
}
