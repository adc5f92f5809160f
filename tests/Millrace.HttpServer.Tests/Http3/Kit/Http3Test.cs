using System.Diagnostics;
using Millrace.Engine;
using Millrace.HttpServer.Tests.Kit;
using Millrace.Quic.Connections;
using Millrace.Tests.Shared;

namespace Millrace.HttpServer.Tests.Http3.Kit;

/// <summary>A test of what a server does with HTTP/3, over a real socket.</summary>
public abstract class Http3Test : SiteFixture
{
    /// <summary>Kept in memory.</summary>
    internal const string Small = "/f1000.bin";

    /// <summary>Larger than the first window of a stream.</summary>
    internal const string Large = "/f200000.bin";

    internal const int LargeBytes = 200_000;

    protected Http3Test() => CarriesHttps = static _ => true;

    private protected RunningSite Site { get; private set; } = null!;

    private protected Http3Endpoint Endpoint { get; private set; } = null!;

    private protected async Task<Http3TestConnection> OpenAsync(
        HttpServerLimits? limits = null,
        Http3TestOptions? options = null,
        EngineOptions? engine = null,
        QuicSettings? server = null,
        QuicSettings? client = null)
    {
        Folder.AddSized(1000);
        Folder.AddSized(LargeBytes);
        Site = await StartAsync(limits: limits, engine: engine);
        Endpoint = await Site.ListenHttp3Async(settings: server);
        return await Endpoint.ConnectAsync(options, client);
    }

    /// <summary>Asserts that bytes on a request's stream end the connection with this code.</summary>
    private protected async Task AssertFailsAsync(long code, byte[] bytes, bool isEnd = true)
    {
        Http3TestConnection client = await OpenAsync();
        await client.SendAsync(bytes, isEnd);
        await AssertFailsAsync(client, code);
    }

    /// <summary>Asserts that the server ends the connection with this code.</summary>
    private protected static async Task AssertFailsAsync(Http3TestConnection client, long code)
    {
        CloseReason reason = await client.Closed;
        Assert.Equal((CloseSource.Peer, true, Hex(code)), (reason.Source, reason.IsApplication, Hex(reason.Code)));
    }

    /// <summary>Asserts that bytes on a request's stream end that with this code, and nothing else.</summary>
    private protected async Task AssertResetsAsync(long code, byte[] bytes, bool isEnd = true)
    {
        Http3TestConnection client = await OpenAsync();
        await AssertResetsAsync(await client.SendAsync(bytes, isEnd), code);
        await AssertServesAsync(client);
    }

    private protected static async Task AssertResetsAsync(Http3TestStream stream, long code)
    {
        Http3TestException reset = await Assert.ThrowsAsync<Http3TestException>(stream.ReadToEndAsync);
        Assert.Null(reset.Reason);
        Assert.Equal(Hex(code), Hex(reset.StreamCode!.Value));
    }

    /// <summary>Asserts that the connection is as before.</summary>
    private protected static async Task AssertServesAsync(Http3TestConnection client) =>
        AssertIsWhole(await client.GetAsync(Small), 1000);

    private protected static void AssertIsWhole(Http3TestResponse response, int size)
    {
        Assert.Equal("200", response.Status);
        Assert.Equal(SiteFolder.Bytes(size), response.Content);
    }

    /// <summary>Waits until the server has sent so many GOAWAY frames.</summary>
    private protected static async Task GoAwaysAsync(Http3TestConnection client, int count)
    {
        long startedAt = Stopwatch.GetTimestamp();
        while (client.GoAways.Count < count)
        {
            Assert.True(Stopwatch.GetElapsedTime(startedAt) < TimeSpan.FromSeconds(20), $"{client.GoAways.Count} GOAWAY");
            await Task.Delay(5);
        }
    }

    private static string Hex(long code) => code.ToString("x", System.Globalization.CultureInfo.InvariantCulture);
}
