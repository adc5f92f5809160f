using Millrace.Quic;
using Millrace.Quic.Connections;
using Millrace.Server.Tests.Http3.Kit;
using Millrace.Tests.Shared;

namespace Millrace.Server.Tests.Http3;

/// <summary>Clients that make work: their connection is ended, and others are served on.</summary>
public class FloodTests
{
    private const int Enough = 200_000;

    private static readonly byte[] Get = Http3Bytes.Request("GET", "/file");

    /// <summary>Whole requests could be answered before they are cancelled, which is not held against their client.</summary>
    [Fact]
    [Trait("Rfc", "9114-10.5")]
    public async Task Requests_that_are_cancelled_at_once_again_and_again_end_the_connection()
    {
        await using Http3Site site = await StartAsync();
        using Http3TestClient client = site.CreateClient();
        Http3TestConnection flood = await client.ConnectAsync(site.Port);
        try
        {
            for (int i = 0; i < Enough; i++)
            {
                Http3TestStream stream = await flood.OpenAsync();
                await stream.WriteAsync(Get.AsMemory(0, Get.Length - 1));
                stream.Abort();
                stream.StopSending();
            }
        }
        catch (Http3TestException ended) when (ended.Reason is not null)
        {
            // That is awaited.
        }

        await AssertEndedAsync(client, site, flood);
    }

    [Theory]
    [InlineData(Http3Bytes.DataType)]
    [InlineData(0x21)]
    [Trait("Rfc", "9114-10.5")]
    public async Task Empty_frames_without_end_on_a_request_stream_end_the_connection(long type)
    {
        await using Http3Site site = await StartAsync();
        using Http3TestClient client = site.CreateClient();
        Http3TestConnection flood = await client.ConnectAsync(site.Port);
        Http3TestStream stream = await flood.SendAsync(Http3Bytes.Request("POST", "/file"), isEnd: false);
        await FloodAsync(stream, Http3Bytes.Frame(type));
        await AssertEndedAsync(client, site, flood);
    }

    [Fact]
    [Trait("Rfc", "9114-10.5")]
    public async Task Unknown_frames_without_end_on_the_control_stream_end_the_connection()
    {
        await using Http3Site site = await StartAsync();
        using Http3TestClient client = site.CreateClient();
        Http3TestConnection flood = await client.ConnectAsync(site.Port);
        await FloodAsync(flood.Control!, Http3Bytes.Frame(0x21));
        await AssertEndedAsync(client, site, flood);
    }

    private static Task<Http3Site> StartAsync() =>
        Http3Site.StartAsync(static folder => folder.WriteText("file", "text"), "--reactors", "1");

    private static async Task FloodAsync(Http3TestStream stream, byte[] frame)
    {
        byte[] many = [.. Enumerable.Repeat(frame, 2_000).SelectMany(static one => one)];
        try
        {
            for (int i = 0; i < Enough; i += 2_000)
            {
                await stream.WriteAsync(many);
            }
        }
        catch (Http3TestException ended) when (ended.Reason is not null)
        {
            // That is awaited.
        }
    }

    private static async Task AssertEndedAsync(Http3TestClient client, Http3Site site, Http3TestConnection flood)
    {
        CloseReason reason = await flood.Closed;
        Assert.Equal(CloseSource.Peer, reason.Source);

        // HTTP/3's budget, or that of QUIC for frames without data.
        Assert.Equal(reason.IsApplication ? Http3Codes.ExcessiveLoad : (long)TransportErrorCode.ProtocolViolation, reason.Code);
        Http3TestConnection other = await client.ConnectAsync(site.Port);
        Assert.Equal("200", (await other.GetAsync("/file")).Status);
    }
}
