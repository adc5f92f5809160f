using System.IO.Pipelines;
using Microsoft.AspNetCore.Http;
using Millrace.Http;
using Millrace.StaticFiles.Catalog;

namespace Millrace.AspNetCore.StaticFiles.Bodies;

/// <summary>
/// A part of a file, block by block, as fast as the client takes it. The head has promised a length: a file that shrinks under it, or is
/// written over, ends the connection (over HTTP/2 the stream), never with padding or an end that looks whole.
/// </summary>
internal static class FileBody
{
    /// <summary>
    /// What is read before the head goes out, so that a disk that fails is a 500. A block of Kestrel's own pool, as it is copied when the
    /// head is there.
    /// </summary>
    private const int ProbeBytes = 4 * 1024;

    /// <summary>Sends it all; false where it ended before, and nothing may follow.</summary>
    /// <param name="context">Whose answer.</param>
    /// <param name="source">The file.</param>
    /// <param name="range">The part of it.</param>
    /// <param name="isBegun">Whether something of the body precedes it: then it is too late for a 500.</param>
    public static async Task<bool> SendAsync(HttpContext context, BodySource source, ByteRange range, bool isBegun = false)
    {
        PipeWriter writer = context.Response.BodyWriter;
        bool isProbe = !isBegun;
        for (long at = range.First; at <= range.Last;)
        {
            int wanted = (int)Math.Min(isProbe ? ProbeBytes : BodySend.BlockBytes, range.Last + 1 - at);
            int read = await FileBlock.ReadAsync(source.Descriptor, writer.GetMemory(wanted)[..wanted], at);
            if (read < 0 && isProbe)
            {
                await PlainAnswer.WriteAsync(context, StatusCodes.Status500InternalServerError);
                return false;
            }

            bool isLast = at + read > range.Last;
            if (read <= 0 || (isLast && source.Change() == BodyChange.Rewritten))
            {
                // Not whole yet, and so it will not be taken for whole.
                context.Abort();
                return false;
            }

            writer.Advance(read);
            at += read;
            if (isProbe)
            {
                await context.Response.StartAsync(context.RequestAborted);
            }

            // The probe goes out with what follows it, or with the end of the request.
            bool mayWait = isProbe && !(isLast && ReplacedBody.Is(context));
            if (!mayWait && (await writer.FlushAsync(context.RequestAborted)).IsCompleted)
            {
                return false;
            }

            isProbe = false;
        }

        return true;
    }
}
