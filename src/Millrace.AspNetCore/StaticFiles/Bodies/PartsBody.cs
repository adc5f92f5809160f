using System.Buffers;
using System.IO.Pipelines;
using Microsoft.AspNetCore.Http;
using Millrace.Http;
using Millrace.StaticFiles.Catalog;
using Millrace.StaticFiles.Planning;

namespace Millrace.AspNetCore.StaticFiles.Bodies;

/// <summary>Several ranges of one file, each behind its head.</summary>
internal static class PartsBody
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

        // Kestrel flushes at the end of a request only what has not been flushed at all.
        await writer.FlushAsync(context.RequestAborted);
    }

    private static Task<bool> SendPartAsync(HttpContext context, BodySource source, ByteRange range) =>
        source.Asset.Strategy == BodyStrategy.Baked
            ? BodySend.Of(source, range, BodyExtent.Range).SendMemoryAsync(context)
            : FileBody.SendAsync(context, source, range, isBegun: true);
}
