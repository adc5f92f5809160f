using Millrace.Http;

namespace Millrace.HttpServer.Http1;

/// <summary>Decodes the body of one HTTP/1.1 request from the input, piece by piece (RFC 9112, section 6).</summary>
internal struct RequestBody
{
    private BodyFraming _framing;
    private ChunkedDecoder _chunks;
    private long _remaining;

    /// <summary>Whether there is a body, and it has not ended.</summary>
    public readonly bool IsPending => _framing != BodyFraming.None;

    public static RequestBody Of(RequestHead head) => new() { _framing = head.Body, _remaining = head.ContentLength };

    /// <summary>What <see cref="Read"/> found of the trailers.</summary>
    public TextRange Trailers { get; private set; }

    /// <summary>
    /// Takes the next piece from the front of the input; <paramref name="data"/> is what belongs to the body. Pass the remaining input
    /// again after <see cref="ChunkedStatus.Data"/>; a refusal and the end are final.
    /// </summary>
    public ChunkedStatus Read(ReadOnlySpan<byte> input, out int consumed, out TextRange data)
    {
        ChunkedStatus status;
        Trailers = default;
        if (_framing == BodyFraming.Chunked)
        {
            status = _chunks.Read(input, out consumed, out data, out TextRange trailers);
            Trailers = trailers;
        }
        else
        {
            consumed = (int)Math.Min(input.Length, _remaining);
            data = new TextRange(0, consumed);
            status = _remaining == 0 ? ChunkedStatus.Done : consumed > 0 ? ChunkedStatus.Data : ChunkedStatus.NeedsMore;
            _remaining -= consumed;
        }

        if (status == ChunkedStatus.Done)
        {
            _framing = BodyFraming.None;
        }

        return status;
    }
}
