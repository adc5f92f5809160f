using Millrace.Http;

namespace Millrace.HttpServer.Heads;

/// <summary>The head and the body of errors that no plan decides on.</summary>
internal static class ErrorHead
{
    /// <summary>Enough for every status line and these fields.</summary>
    public const int BytesMax = 512;

    /// <summary>The body, for human readers: "404 Not Found\r\n" from "HTTP/1.1 404 Not Found\r\n".</summary>
    public static ReadOnlySpan<byte> BodyOf(int status) => StatusLine.Of(status)["HTTP/1.1 ".Length..];

    public static void Write<TWriter>(ref TWriter writer, int status, scoped ReadOnlySpan<byte> date)
        where TWriter : IHeadWriter, allows ref struct
    {
        writer.Status(status);
        writer.Lines(date);
        if (status == 503)
        {
            writer.Field("Retry-After"u8, "1"u8);
        }

        // The error of one request says nothing about the next one.
        writer.Field("Cache-Control"u8, "no-store"u8);
        writer.Field("Content-Type"u8, "text/plain; charset=utf-8"u8);
        writer.ContentLength(BodyOf(status).Length);
    }
}
