using System.Buffers;
using System.IO.Pipelines;
using Microsoft.AspNetCore.Http;
using Microsoft.AspNetCore.Http.Features;
using Millrace.Http;

namespace Millrace.AspNetCore.Safety;

/// <summary>
/// Decides before a request runs whether it may run on its reactor. A handler that blocks for its own body there waits for bytes that only
/// the blocked thread can receive, and by the time it blocks it is too late to leave. Reactor thread; does not throw.
/// </summary>
internal static class EarlyLeave
{
    /// <summary>A longer chunked body counts as incomplete: its chunks are not searched for the last one.</summary>
    private const int ChunkedBytesMax = 16 * 1024;

    /// <summary>
    /// Whether the request must leave: the server allows synchronous reads and writes, or the handler might wait for its body.
    /// </summary>
    /// <param name="context">The request.</param>
    /// <param name="input">The connection's input. Nothing else reads it just before a request begins.</param>
    /// <param name="staysForBody">Whether an incomplete body alone is no reason to leave.</param>
    public static bool MustLeave(HttpContext context, PipeReader input, bool staysForBody) =>
        context.Features.Get<IHttpBodyControlFeature>() is { AllowSynchronousIO: true }
        || (!staysForBody
            && context.Features.Get<IHttpRequestBodyDetectionFeature>() is { CanHaveBody: true }
            && !HasArrived(context.Request, input));

    private static bool HasArrived(HttpRequest request, PipeReader input)
    {
        if (!input.TryRead(out ReadResult read))
        {
            return request.ContentLength == 0;
        }

        bool hasArrived = request.ContentLength is { } length ? read.Buffer.Length >= length : HasLastChunk(read.Buffer);
        input.AdvanceTo(read.Buffer.Start);
        return hasArrived;
    }

    private static bool HasLastChunk(in ReadOnlySequence<byte> bytes)
    {
        if (bytes.Length > ChunkedBytesMax)
        {
            return false;
        }

        var decoder = new ChunkedDecoder();
        foreach (ReadOnlyMemory<byte> segment in bytes)
        {
            ReadOnlySpan<byte> remaining = segment.Span;
            ChunkedStatus status;
            do
            {
                status = decoder.Read(remaining, out int consumed, out _);
                remaining = remaining[consumed..];
            }
            while (status == ChunkedStatus.Data);

            if (status != ChunkedStatus.NeedsMore)
            {
                // Malformed bodies count as arrived: Kestrel refuses them too, without a wait.
                return true;
            }
        }

        return false;
    }
}
