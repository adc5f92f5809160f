using System.Buffers;
using System.IO.Pipelines;
using Microsoft.AspNetCore.Http;
using Millrace.Http;
using Millrace.StaticFiles.Planning;
using Millrace.StaticFiles.Snapshots;

namespace Millrace.AspNetCore.StaticFiles.Bodies;

/// <summary>Sends several ranges of one file, each after its part head.</summary>
internal static class MultipartBody
{
    public static async Task SendAsync(HttpContext context, BodySource source, MultipartRanges parts)
    {
        await context.Response.StartAsync(context.RequestAborted);
        PipeWriter writer = context.Response.BodyWriter;
        for (int i = 0; i < parts.Count; i++)
        {
            writer.Write(parts.HeadOf(i));
            if (!await SendPartAsync(context, source, parts[i]))
            {
                return;
            }
        }

        writer.Write(parts.End);

        // At the end of a request Kestrel flushes only if nothing was flushed before.
        await writer.FlushAsync(context.RequestAborted);
    }

    private static Task<bool> SendPartAsync(HttpContext context, BodySource source, ByteRange range) =>
        source.Asset.Strategy == BodyStrategy.InMemory
            ? BodySender.Of(source, range, BodyExtent.Range).SendMemoryAsync(context)
            : FileBody.SendAsync(context, source, range, isBegun: true);
}
