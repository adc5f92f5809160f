using System.IO.Compression;
using System.Net.WebSockets;
using System.Security.Cryptography;
using System.Text;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Http;
using Microsoft.AspNetCore.Http.Features;
using Microsoft.AspNetCore.Routing;
using Microsoft.Net.Http.Headers;

namespace Millrace.ProxiedApplication;

/// <summary>The paths of the application, each for one thing that a proxy can get wrong.</summary>
internal static class Api
{
    private static readonly byte[] File = [.. Enumerable.Range(0, 100_000).Select(static i => (byte)(i * 7))];

    private static readonly TaskCompletionSource Never = new();

    private static int Connections;

    public static void MapApi(this WebApplication app)
    {
        ArgumentNullException.ThrowIfNull(app);
        RouteGroupBuilder api = app.MapGroup("/api");
        api.Map("/echo", EchoAsync);
        api.MapMethods("/file", [HttpMethods.Get, HttpMethods.Head], static () => Results.File(
            File, "application/x-mill", enableRangeProcessing: true, entityTag: new EntityTagHeaderValue("\"mill\""),
            lastModified: new DateTimeOffset(2026, 5, 1, 0, 0, 0, TimeSpan.Zero)));
        api.MapGet("/chunked/{count:int}", ChunkedAsync);
        api.MapGet("/events/{count:int}", EventsAsync);
        api.MapGet("/fields/{bytes:int}", FieldsAsync);
        api.MapGet("/gzip", GzipAsync);
        api.MapGet("/download/{bytes:long}", DownloadAsync);
        api.MapMethods("/upload", [HttpMethods.Post, HttpMethods.Put], UploadAsync);
        api.MapPost("/upload/{pauseMs:int}", UploadAsync);
        api.MapPost("/refuse", static () => Results.StatusCode(StatusCodes.Status413PayloadTooLarge));
        api.MapGet("/hang", static () => Never.Task);
        api.MapGet("/slow/{count:int}/{ms:int}", SlowAsync);
        api.MapGet("/cut", static async (HttpContext context) =>
        {
            context.Response.ContentLength = 100;
            await context.Response.WriteAsync("cut");
            await context.Response.Body.FlushAsync();
            context.Abort();
        });
        api.Map("/socket", SocketAsync);
        api.MapGet("/status/{status:int}", static (HttpContext context, int status) => context.Response.StatusCode = status);
    }

    /// <summary>What has arrived: a line for each field, then the body's length and hash.</summary>
    private static async Task EchoAsync(HttpContext context)
    {
        var text = new StringBuilder();
        string target = context.Features.Get<IHttpRequestFeature>()!.RawTarget;
        text.Append($"{context.Request.Method} {target} {context.Request.Protocol} connection {NumberOf(context)}\n");
        foreach ((string name, Microsoft.Extensions.Primitives.StringValues values) in context.Request.Headers)
        {
            text.Append($"{name}: {values}\n");
        }

        (long bytes, string hash) = await ReadAsync(context);
        text.Append($"\n{bytes} {hash}");
        await context.Response.WriteAsync(text.ToString());
    }

    private static int NumberOf(HttpContext context)
    {
        const string Key = "number";
        IDictionary<object, object?> items = context.Features.Get<Microsoft.AspNetCore.Connections.Features.IConnectionItemsFeature>()!.Items;
        return items.TryGetValue(Key, out object? number) ? (int)number! : (int)(items[Key] = Interlocked.Increment(ref Connections))!;
    }

    /// <param name="context">The request.</param>
    /// <param name="pauseMs">A pause after each 8 MiB.</param>
    private static async Task<(long Bytes, string Hash)> ReadAsync(HttpContext context, int pauseMs = 0)
    {
        using var hash = IncrementalHash.CreateHash(HashAlgorithmName.SHA256);
        long bytes = 0;
        byte[] buffer = new byte[64 * 1024];
        while (await context.Request.Body.ReadAsync(buffer, context.RequestAborted) is var count and > 0)
        {
            if (pauseMs > 0 && (bytes + count) >> 23 > bytes >> 23)
            {
                await Task.Delay(pauseMs, context.RequestAborted);
            }

            bytes += count;
            hash.AppendData(buffer, 0, count);
        }

        return (bytes, Convert.ToHexStringLower(hash.GetHashAndReset()));
    }

    private static async Task ChunkedAsync(HttpContext context, int count)
    {
        for (int i = 0; i < count; i++)
        {
            await context.Response.WriteAsync($"chunk {i}\n");
            await context.Response.Body.FlushAsync();
        }
    }

    /// <summary>Server-sent events, each at once, and then a stream that stays open.</summary>
    private static async Task EventsAsync(HttpContext context, int count)
    {
        context.Response.ContentType = "text/event-stream";
        context.Response.Headers.CacheControl = "no-store";
        for (int i = 0; i < count; i++)
        {
            await context.Response.WriteAsync($"id: {i}\ndata: event {i}\n\n");
            await context.Response.Body.FlushAsync();
        }

        await Task.Delay(Timeout.Infinite, context.RequestAborted).ContinueWith(static _ => { }, TaskScheduler.Default);
    }

    private static Task FieldsAsync(HttpContext context, int bytes)
    {
        context.Response.Headers["X-Large"] = new string('x', bytes);
        context.Response.Headers.Append("Set-Cookie", "a=1");
        context.Response.Headers.Append("Set-Cookie", "b=2");
        return context.Response.WriteAsync("fields");
    }

    private static async Task GzipAsync(HttpContext context)
    {
        context.Response.Headers.ContentEncoding = "gzip";
        context.Response.Headers.Vary = "Accept-Encoding";
        await using var gzip = new GZipStream(context.Response.Body, CompressionLevel.Fastest);
        await gzip.WriteAsync(Encoding.ASCII.GetBytes(new string('m', 50_000)));
    }

    private static async Task DownloadAsync(HttpContext context, long bytes)
    {
        context.Response.ContentLength = bytes;
        byte[] buffer = new byte[64 * 1024];
        while (bytes > 0)
        {
            int count = (int)Math.Min(bytes, buffer.Length);
            await context.Response.Body.WriteAsync(buffer.AsMemory(0, count), context.RequestAborted);
            bytes -= count;
        }
    }

    private static async Task UploadAsync(HttpContext context)
    {
        int pauseMs = int.Parse((string?)context.GetRouteValue("pauseMs") ?? "0");
        (long bytes, string hash) = await ReadAsync(context, pauseMs);
        await context.Response.WriteAsync($"{bytes} {hash}");
    }

    private static async Task SlowAsync(HttpContext context, int count, int ms)
    {
        for (int i = 0; i < count; i++)
        {
            await context.Response.Body.WriteAsync("s"u8.ToArray());
            await context.Response.Body.FlushAsync();
            await Task.Delay(ms, context.RequestAborted);
        }
    }

    private static async Task SocketAsync(HttpContext context)
    {
        if (!context.WebSockets.IsWebSocketRequest)
        {
            context.Response.StatusCode = StatusCodes.Status400BadRequest;
            return;
        }

        using WebSocket socket = await context.WebSockets.AcceptWebSocketAsync();
        byte[] buffer = new byte[16 * 1024];
        ValueWebSocketReceiveResult got;
        while ((got = await socket.ReceiveAsync(buffer.AsMemory(), context.RequestAborted)).MessageType != WebSocketMessageType.Close)
        {
            await socket.SendAsync(buffer.AsMemory(0, got.Count), got.MessageType, got.EndOfMessage, context.RequestAborted);
        }

        await socket.CloseAsync(WebSocketCloseStatus.NormalClosure, null, CancellationToken.None);
    }
}
