#if !DEBUG // A Debug build keeps ledgers of what was lent, and they allocate.
using System.Net.Sockets;
using System.Text;
using Millrace.Http;
using Millrace.HttpServer.Tests.Http2.Kit;
using Millrace.HttpServer.Tests.Kit;
using Millrace.HttpServer.Tests.Upstreams.Kit;
using Millrace.Tests.Shared;

namespace Millrace.HttpServer.Tests.Proxying;

/// <summary>A proxied request allocates nothing once pools are warm: measured on the reactor's own thread.</summary>
public class AllocationTests : ProxyTest
{
    private const int Requests = 4_000;

    private static readonly byte[] Length = Encoding.ASCII.GetBytes(Ok);
    private static readonly byte[] Chunks =
        Encoding.ASCII.GetBytes("HTTP/1.1 200 OK\r\nDate: D\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n");

    [Theory]
    [InlineData("GET /api/ HTTP/1.1\r\nHost: a\r\nAccept: */*\r\n\r\n", "\r\n\r\n", false)]
    [InlineData("GET /api/ HTTP/1.1\r\nHost: a\r\nAccept: */*\r\n\r\n", "\r\n\r\n", true)]
    [InlineData("POST /api/ HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello", "hello", false)]
    [InlineData("POST /api/ HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n", "\r\n0\r\n\r\n", true)]
    public async Task Requests_of_http_1_1_allocate_nothing(string request, string end, bool isChunked)
    {
        byte[] bytes = Encoding.ASCII.GetBytes(request);
        var observer = new CountingObserver();
        await StartProxyAsync(observe: _ => observer.OnFinished);
        Wire client = await Site.ConnectAsync();
        Task answering = AnswerAsync(Encoding.ASCII.GetBytes(end), isChunked);
        await ServeAsync();
        await ReactorAllocations.AssertNoneAsync(Site.Group.Reactors[0], rounds: 4, ServeAsync);
        client.Dispose();
        Assert.False(answering.IsFaulted);

        async Task ServeAsync()
        {
            for (int i = 0; i < Requests; i++)
            {
                await client.SendAsync(bytes);
                if (isChunked)
                {
                    await client.ReadHeadAsync();
                    await client.ReadChunksAsync();
                }
                else
                {
                    await client.ReadResponseAsync();
                }
            }
        }
    }

    [Theory]
    [InlineData(false, false)]
    [InlineData(false, true)]
    [InlineData(true, false)]
    [InlineData(false, false, true)]
    public async Task Requests_of_http_2_allocate_nothing(bool hasBody, bool isChunked, bool endsLater = false)
    {
        byte[] block = hasBody ? Block.Request("POST", "/api/", "content-length: 5") : Block.Get("/api/");
        await StartProxyAsync();
        Http2Wire client = await Http2Wire.OpenAsync(Site);
        Task answering = AnswerAsync(hasBody ? "hello"u8.ToArray() : "\r\n\r\n"u8.ToArray(), isChunked);
        int streamId = 1;
        await ServeAsync();
        await ReactorAllocations.AssertNoneAsync(Site.Group.Reactors[0], rounds: 4, ServeAsync);
        client.Wire.Dispose();
        Assert.False(answering.IsFaulted);

        async Task ServeAsync()
        {
            for (int i = 0; i < Requests; i++)
            {
                if (hasBody)
                {
                    await client.SendAsync(Frame.Headers(streamId, block, FrameFlags.EndHeaders), Frame.Data(streamId, "hello"u8));
                }
                else if (endsLater)
                {
                    await client.SendAsync(Frame.Headers(streamId, block, FrameFlags.EndHeaders), Frame.Data(streamId, default));
                }
                else
                {
                    await client.SendAsync(Frame.Headers(streamId, block));
                }

                streamId += 2;
                uint bytes = 0;
                while (true)
                {
                    Frame frame = await client.ReadFrameAsync();
                    bytes += frame.Type == FrameType.Data ? (uint)frame.Payload.Length : 0;
                    if (frame.IsLast)
                    {
                        break;
                    }
                }

                await client.SendAsync(Frame.WindowUpdate(0, bytes));
            }
        }
    }

    /// <summary>Answers each request, whose last bytes are known, over one connection.</summary>
    private async Task AnswerAsync(byte[] end, bool isChunked)
    {
        UpstreamWire upstream = await Upstream.AcceptAsync();
        byte[] buffer = new byte[64 * 1024];
        int have = 0;
        try
        {
            while (true)
            {
                int count = await upstream.Socket.ReceiveAsync(buffer.AsMemory(have));
                if (count == 0)
                {
                    return;
                }

                have += count;
                if (buffer.AsSpan(0, have).EndsWith(end))
                {
                    have = 0;
                    await upstream.SendAsync(isChunked ? Chunks : Length);
                }
            }
        }
        catch (Exception ended) when (ended is SocketException or ObjectDisposedException or OperationCanceledException)
        {
            // With the test.
        }
    }
}
#endif
