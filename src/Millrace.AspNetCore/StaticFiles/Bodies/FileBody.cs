using System.IO.Pipelines;
using Microsoft.AspNetCore.Http;
using Millrace.Http;
using Millrace.StaticFiles.Snapshots;

namespace Millrace.AspNetCore.StaticFiles.Bodies;

/// <summary>
/// Sends a part of a file, block by block, as fast as the client reads. The head has promised a length: if the file shrinks or is
/// overwritten meanwhile, the connection ends (over HTTP/2 the stream), never with padding or an end that looks complete.
/// </summary>
internal static class FileBody
{
    /// <summary>
    /// Bytes read before the head is sent, so that a disk error becomes a 500. A block of Kestrel's own pool, as it is copied when the head
    /// is written.
    /// </summary>
    private const int ProbeBytes = 4 * 1024;

    /// <summary>Sends the part; false if it ended early and nothing may follow.</summary>
    /// <param name="context">The request.</param>
    /// <param name="source">The file.</param>
    /// <param name="range">The part to send.</param>
    /// <param name="isBegun">Whether part of the body precedes it: then it is too late for a 500.</param>
    public static async Task<bool> SendAsync(HttpContext context, BodySource source, ByteRange range, bool isBegun = false)
    {
        PipeWriter writer = context.Response.BodyWriter;
        bool isProbe = !isBegun;
        for (long at = range.First; at <= range.Last;)
        {
            int wanted = (int)Math.Min(isProbe ? ProbeBytes : BodySender.BlockBytes, range.Last + 1 - at);
            int read = await FileBlockReader.ReadAsync(source.Descriptor, writer.GetMemory(wanted)[..wanted], at);
            if (read < 0 && isProbe)
            {
                await ErrorResponse.WriteAsync(context, StatusCodes.Status500InternalServerError);
                return false;
            }

            bool isLast = at + read > range.Last;
            if (read <= 0 || (isLast && source.Change() == BodyChange.Rewritten))
            {
                // The response is incomplete, and the abort lets the client see that.
                context.Abort();
                return false;
            }

            writer.Advance(read);
            at += read;
            if (isProbe)
            {
                await context.Response.StartAsync(context.RequestAborted);
            }

            // The first block is flushed with the next one, or with the end of the request.
            bool mayWait = isProbe && !(isLast && BodySender.NeedsFlush(context));
            if (!mayWait && (await writer.FlushAsync(context.RequestAborted)).IsCompleted)
            {
                return false;
            }

            isProbe = false;
        }

        return true;
    }
}
