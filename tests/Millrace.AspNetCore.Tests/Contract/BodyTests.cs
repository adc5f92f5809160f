using System.Diagnostics;
using System.Globalization;
using System.IO.Pipelines;
using System.Net.Sockets;
using System.Text;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Connections;
using Microsoft.AspNetCore.Http;
using Millrace.AspNetCore.Tests.Kit;

namespace Millrace.AspNetCore.Tests.Contract;

/// <summary>Bodies: every byte of them, and no more memory than the limits say.</summary>
public class BodyTests
{
    private const int HundredMb = 100_000_000;

    private static async Task ResponseHash(HttpContext context) =>
        await context.Response.WriteAsync(await PatternContent.HashAsync(context.Request.Body));

    [Theory, EachTransport]
    [Trait("Duration", "Full")]
    public Task A_sized_upload_of_100_MB_arrives_whole(TransportKind transport) => UploadAsync(transport, Framing.Sized);

    [Theory, EachTransport]
    [Trait("Duration", "Full")]
    public Task A_chunked_upload_of_100_MB_arrives_whole(TransportKind transport) => UploadAsync(transport, Framing.Chunked);

    [Theory, EachTransport]
    public async Task Uploads_of_many_clients_at_once_arrive_whole(TransportKind transport)
    {
        const int BodyBytes = 2_000_003;
        await using RunningApplication application = await RunningApplication.StartAsync(transport, ResponseHash);
        using HttpClient client = application.NewClient();

        HttpResponseMessage[] responses = await Task.WhenAll(Enumerable.Range(0, 24).Select(i =>
            client.PostAsync("/", new PatternContent(BodyBytes, i % 2 == 0 ? Framing.Sized : Framing.Chunked)))).Within();

        string expected = PatternContent.HashOf(BodyBytes);
        foreach (HttpResponseMessage response in responses)
        {
            Assert.Equal(expected, await response.Content.ReadAsStringAsync());
        }
    }

    [Theory, EachTransport]
    public async Task A_download_arrives_whole(TransportKind transport)
    {
        const int BodyBytes = 20_000_003;
        await using RunningApplication application = await RunningApplication.StartAsync(transport, static async context =>
        {
            context.Response.ContentLength = BodyBytes;
            foreach (ReadOnlyMemory<byte> piece in PatternContent.Pieces(BodyBytes))
            {
                await context.Response.Body.WriteAsync(piece);
            }
        });
        using HttpClient client = application.NewClient();

        await using Stream body = await client.GetStreamAsync("/");
        Assert.Equal(PatternContent.HashOf(BodyBytes), await PatternContent.HashAsync(body).Within());
    }

    [Theory, EachTransport]
    public async Task One_write_of_many_megabytes_arrives_whole(TransportKind transport)
    {
        // Out of one large array: the pipe's blocks for it are not the pool's pinned ones.
        byte[] body = [.. PatternContent.Pieces(8_000_001).SelectMany(static piece => piece.ToArray())];
        string expected = PatternContent.HashOf(body.Length);
        await using RunningApplication application = await RunningApplication.StartAsync(transport, async context =>
        {
            context.Response.ContentLength = body.Length;
            Memory<byte> room = context.Response.BodyWriter.GetMemory(body.Length);
            body.CopyTo(room);
            context.Response.BodyWriter.Advance(body.Length);
            await context.Response.BodyWriter.FlushAsync();
        });
        using HttpClient client = application.NewClient();

        for (int i = 0; i < 3; i++)
        {
            await using Stream stream = await client.GetStreamAsync("/");
            Assert.Equal(expected, await PatternContent.HashAsync(stream).Within());
        }
    }

    [Theory, EachTransport]
    public async Task A_long_answer_before_a_close_arrives_whole(TransportKind transport)
    {
        string body = new('w', 5_000_000);
        await using RunningApplication application = await RunningApplication.StartAsync(transport, context =>
        {
            context.Response.ContentLength = body.Length;
            return context.Response.WriteAsync(body);
        });
        using RawClient client = await RawClient.ConnectAsync(application.EndPoint, receiveBufferBytes: 16_384);

        await client.SendAsync("GET / HTTP/1.1\r\nHost: site\r\nConnection: close\r\n\r\n");
        (string text, Ending ending) = await client.ReadToEndAsync();

        Assert.EndsWith(body, text, StringComparison.Ordinal);
        Assert.Equal(Ending.Fin, ending);
    }

    [Theory, EachTransport]
    public async Task A_body_is_answered_while_it_is_still_being_sent(TransportKind transport)
    {
        await using RunningApplication application = await RunningApplication.StartAsync(transport, static async context =>
        {
            byte[] buffer = new byte[100];
            int read;
            while ((read = await context.Request.Body.ReadAsync(buffer)) > 0)
            {
                await context.Response.Body.WriteAsync(buffer.AsMemory(0, read));
                await context.Response.Body.FlushAsync();
            }
        });
        using RawClient client = await application.ConnectAsync();
        await client.SendAsync("POST / HTTP/1.1\r\nHost: site\r\nTransfer-Encoding: chunked\r\n\r\n");

        for (int i = 0; i < 20; i++)
        {
            string word = string.Create(CultureInfo.InvariantCulture, $"word-{i:00};");
            await client.SendAsync($"{word.Length:x}\r\n{word}\r\n");
            await client.ReadThroughAsync(word);
        }

        await client.SendAsync("0\r\n\r\n");
        await client.ReadThroughAsync("\r\n0\r\n\r\n");
    }

    [Theory, EachTransport]
    public async Task A_body_that_nobody_read_is_passed_over(TransportKind transport)
    {
        await using RunningApplication application = await RunningApplication.StartAsync(
            transport, static context => context.Response.WriteAsync(context.Request.Path));
        using RawClient client = await application.ConnectAsync();

        await client.SendAsync($"POST /one HTTP/1.1\r\nHost: site\r\nContent-Length: 300000\r\n\r\n{new string('x', 300_000)}");
        Assert.Equal("/one", (await client.ReadResponseAsync()).Body);
        Assert.Equal("/two", (await client.GetAsync("/two")).Body);
    }

    [Theory, EachTransport]
    [Trait("Duration", "Full")]
    public async Task A_reader_that_lags_stops_the_sender(TransportKind transport)
    {
        var gate = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        await using RunningApplication application = await RunningApplication.StartAsync(
            transport,
            async context =>
            {
                await gate.Task;
                await ResponseHash(context);
            },
            static limits => limits.MaxRequestBodySize = null);
        using RawClient client = await application.ConnectAsync();
        await client.SendAsync($"POST / HTTP/1.1\r\nHost: site\r\nContent-Length: {HundredMb}\r\nConnection: close\r\n\r\n");

        long sent = 0;
        Task sending = Task.Run(async () =>
        {
            foreach (ReadOnlyMemory<byte> piece in PatternContent.Pieces(HundredMb))
            {
                await client.SendAsync(piece);
                Interlocked.Add(ref sent, piece.Length);
            }
        });
        await application.Log.ExpectAsync("ConnectionPause");
        await StandsStillAsync(() => Interlocked.Read(ref sent));

        // A mebibyte in the pipe, and what the kernel holds of both ends: at most 6 and 4 MB of TCP's buffers.
        Assert.InRange(Interlocked.Read(ref sent), 1 << 20, 20_000_000);
        gate.SetResult();
        await sending.Within();
        Assert.Contains(PatternContent.HashOf(HundredMb), (await client.ReadToEndAsync()).Text, StringComparison.Ordinal);
        await application.Log.ExpectAsync("ConnectionResume");
    }

    [Theory, EachTransport]
    public Task A_slow_reader_of_64_MB_holds_the_handler_back(TransportKind transport) => ReadSlowlyAsync(transport, 64 << 20);

    [Theory, EachTransport]
    [Trait("Duration", "Long")]
    public Task A_slow_reader_of_1_GB_holds_the_handler_back_and_memory_is_flat(TransportKind transport) =>
        ReadSlowlyAsync(transport, 1 << 30);

    [Theory, EachTransport]
    public async Task Bytes_flow_both_ways_at_once(TransportKind transport)
    {
        const int BodyBytes = 16_000_001;
        await using RunningApplication application = await RunningApplication.StartAsync(
            transport, static _ => Task.CompletedTask, endpoint: static endpoint => endpoint.Run(EchoAsync));
        using RawClient client = await application.ConnectAsync();

        Task sending = Task.Run(async () =>
        {
            foreach (ReadOnlyMemory<byte> piece in PatternContent.Pieces(BodyBytes))
            {
                await client.SendAsync(piece);
            }

            client.Fin();
        });
        await using var stream = new NetworkStream(client.Socket);
        string hash = await PatternContent.HashAsync(stream).Within();
        await sending.Within();

        Assert.Equal(PatternContent.HashOf(BodyBytes), hash);
    }

    private static async Task EchoAsync(ConnectionContext connection)
    {
        PipeReader input = connection.Transport.Input;
        ReadResult read;
        do
        {
            read = await input.ReadAsync();
            foreach (ReadOnlyMemory<byte> segment in read.Buffer)
            {
                await connection.Transport.Output.WriteAsync(segment);
            }

            input.AdvanceTo(read.Buffer.End);
        }
        while (!read.IsCompleted);
    }

    private static async Task UploadAsync(TransportKind transport, Framing framing)
    {
        await using RunningApplication application = await RunningApplication.StartAsync(
            transport, ResponseHash, static limits => limits.MaxRequestBodySize = null);
        using HttpClient client = application.NewClient();

        using HttpResponseMessage response = await client.PostAsync("/", new PatternContent(HundredMb, framing));

        Assert.Equal(PatternContent.HashOf(HundredMb), await response.Content.ReadAsStringAsync());
    }

    private static async Task ReadSlowlyAsync(TransportKind transport, long bodyBytes)
    {
        long written = 0;
        byte[] piece = Encoding.ASCII.GetBytes(new string('w', 65_536));
        await using RunningApplication application = await RunningApplication.StartAsync(
            transport,
            async context =>
            {
                context.Response.ContentLength = bodyBytes;
                while (Interlocked.Read(ref written) < bodyBytes)
                {
                    await context.Response.Body.WriteAsync(piece);
                    Interlocked.Add(ref written, piece.Length);
                }
            },
            static limits => limits.MinResponseDataRate = null);
        using RawClient client = await RawClient.ConnectAsync(application.EndPoint, receiveBufferBytes: 65_536);
        await client.SendAsync("GET / HTTP/1.1\r\nHost: site\r\n\r\n");
        await client.ReadThroughAsync("\r\n\r\n");

        await StandsStillAsync(() => Interlocked.Read(ref written));
        long leadBytesMax = Interlocked.Read(ref written);
        long residentBefore = Environment.WorkingSet;
        long residentMax = 0;
        byte[] buffer = new byte[1 << 20];
        for (long taken = 0; taken < bodyBytes - 65_536;)
        {
            taken += await client.Socket.ReceiveAsync(buffer, SocketFlags.None).Within();
            leadBytesMax = Math.Max(leadBytesMax, Interlocked.Read(ref written) - taken);
            residentMax = Math.Max(residentMax, Environment.WorkingSet);
        }

        // 64 KiB in the pipe and in Kestrel each; the rest is the kernel's send buffer, 4 MB at most by default.
        Assert.InRange(leadBytesMax, 65_536, 10_000_000);
        Assert.True(
            residentMax - residentBefore < 100_000_000, $"Memory grew by {residentMax - residentBefore:N0} bytes for {bodyBytes:N0}.");
    }

    /// <summary>Waits until a counter has moved and then has not for a while.</summary>
    private static async Task StandsStillAsync(Func<long> counter)
    {
        long last = -1;
        var watch = Stopwatch.StartNew();
        var still = Stopwatch.StartNew();
        while (last <= 0 || still.Elapsed < TimeSpan.FromMilliseconds(500))
        {
            Assert.True(watch.Elapsed < Waiting.Patience, $"It still moves, at {last}.");
            await Task.Delay(20);
            if (counter() != last)
            {
                last = counter();
                still.Restart();
            }
        }
    }
}
