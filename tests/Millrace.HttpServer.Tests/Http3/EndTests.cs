using System.Diagnostics;
using Millrace.Engine;
using Millrace.HttpServer.Tests.Http3.Kit;
using Millrace.HttpServer.Tests.Kit;
using Millrace.Quic.Connections;
using Millrace.Quic.Streams;
using Millrace.Tests.Shared;

namespace Millrace.HttpServer.Tests.Http3;

/// <summary>How connections and streams end: with the server, for want of anything to do, and for want of progress.</summary>
public class EndTests : Http3Test
{
    private static readonly TimeSpan Short = TimeSpan.FromMilliseconds(400);

    [Fact]
    [Trait("Rfc", "9114-5.2")]
    public async Task A_server_that_stops_says_so_twice_and_finishes_what_it_has_begun()
    {
        Http3TestConnection client = await OpenAsync(
            new HttpServerLimits { Http3 = new Http3Limits { DrainNotice = TimeSpan.FromSeconds(1) } });
        Http3TestStream first = await client.SendAsync(Http3Bytes.Request("GET", Large));
        Assert.NotNull(await first.ReadHeadAsync());
        Task stopping = Endpoint.Listener.StopAsync(TimeSpan.FromSeconds(30));
        await GoAwaysAsync(client, 1);
        Assert.Equal((1L << 62) - 4, client.GoAways[0]);

        // Sent before the notice was read.
        AssertIsWhole(await client.GetAsync(Small), 1000);
        await GoAwaysAsync(client, 2);
        Assert.Equal(8, client.GoAways[1]);
        await AssertResetsAsync(await client.SendAsync(Http3Bytes.Request("GET", Small)), Http3Codes.RequestRejected);
        Assert.False(client.HasClosed);
        while (await first.ReadDataAsync() is not null)
        {
        }

        await AssertFailsAsync(client, Http3Codes.NoError);
        await stopping;
    }

    /// <summary>Its client has read that it may send it again elsewhere.</summary>
    [Fact]
    [Trait("Rfc", "9114-5.2")]
    public async Task A_request_that_is_not_whole_when_the_last_GOAWAY_goes_is_not_served()
    {
        Http3TestConnection client = await OpenAsync();
        await AssertServesAsync(client);
        Http3TestStream stream = await client.SendAsync(Http3Bytes.Request("GET", Small).AsMemory(0, 9), isEnd: false);
        Task stopping = Endpoint.Listener.StopAsync(TimeSpan.FromSeconds(30));
        await GoAwaysAsync(client, 2);
        Assert.Equal(4, client.GoAways[1]);
        await AssertResetsAsync(stream, Http3Codes.RequestRejected);
        await AssertFailsAsync(client, Http3Codes.NoError);
        await stopping;
    }

    [Fact]
    [Trait("Rfc", "9114-5.2")]
    public async Task An_idle_connection_of_a_server_that_stops_ends_after_the_notice()
    {
        Http3TestConnection client = await OpenAsync();
        await client.ServerSettings;
        Task stopping = Endpoint.Listener.StopAsync(TimeSpan.FromSeconds(30));
        await GoAwaysAsync(client, 2);
        Assert.Equal([(1L << 62) - 4, 0], client.GoAways);
        await AssertFailsAsync(client, Http3Codes.NoError);
        await stopping;
    }

    [Fact]
    [Trait("Rfc", "9114-5.2")]
    public async Task A_client_that_closes_when_it_is_told_to_is_not_waited_for()
    {
        Http3TestConnection client = await OpenAsync(
            new HttpServerLimits { Http3 = new Http3Limits { DrainLinger = TimeSpan.FromMinutes(5) } });
        await AssertServesAsync(client);
        Task stopping = Endpoint.Listener.StopAsync(TimeSpan.FromMinutes(5));
        await GoAwaysAsync(client, 2);
        client.Close();
        await stopping.WaitAsync(TimeSpan.FromSeconds(20), TestContext.Current.CancellationToken);
    }

    [Fact]
    [Trait("Rfc", "9114-5.1")]
    public async Task An_idle_connection_is_ended_in_order()
    {
        long startedAt = Stopwatch.GetTimestamp();
        Http3TestConnection client = await OpenAsync(new HttpServerLimits { KeepAlive = Short });
        await AssertServesAsync(client);
        await AssertServesAsync(client);
        await AssertFailsAsync(client, Http3Codes.NoError);
        Assert.Equal([8], client.GoAways);
        Assert.True(Stopwatch.GetElapsedTime(startedAt) >= Short - ReactorClock.Coarseness);
    }

    /// <summary>Its first request may be in transit: it may be repeated.</summary>
    [Fact]
    [Trait("Rfc", "9114-3.3")]
    public async Task A_connection_that_ends_unused_names_no_request()
    {
        Http3TestConnection client = await OpenAsync(new HttpServerLimits { KeepAlive = Short });
        await client.ServerSettings;
        await AssertFailsAsync(client, Http3Codes.NoError);
        Assert.Equal([0], client.GoAways);
    }

    [Fact]
    [Trait("Duration", "Full")]
    public async Task A_connection_with_requests_is_not_idle()
    {
        Http3TestConnection client = await OpenAsync(new HttpServerLimits { KeepAlive = Short });
        Http3TestStream stream = await client.SendAsync(Http3Bytes.Request("GET", Large));
        Assert.NotNull(await stream.ReadHeadAsync());
        // Sleeps: longer than an idle connection has.
        await Task.Delay(3 * Short, TestContext.Current.CancellationToken);
        await AssertServesAsync(client);
    }

    [Fact]
    [Trait("Rfc", "9114-6.2.1")]
    public async Task A_client_without_settings_has_a_deadline()
    {
        Http3TestConnection client = await OpenAsync(
            new HttpServerLimits { Head = Short }, new Http3TestOptions { OpensStreams = false });
        await AssertFailsAsync(client, Http3Codes.MissingSettings);
    }

    [Theory]
    [InlineData(1)]
    [InlineData(2)]
    [InlineData(20)]
    public async Task A_request_that_does_not_end_has_a_deadline(int bytes)
    {
        Http3TestConnection client = await OpenAsync(new HttpServerLimits { Head = Short });
        Http3TestStream stream = await client.SendAsync(Http3Bytes.Request("GET", Small).AsMemory(0, bytes), isEnd: false);
        await AssertResetsAsync(stream, Http3Codes.RequestCancelled);
        await AssertServesAsync(client);
    }

    [Fact]
    public async Task A_frame_of_the_control_stream_that_does_not_end_has_a_deadline()
    {
        Http3TestConnection client = await OpenAsync(new HttpServerLimits { Head = Short });
        await client.Control!.WriteAsync(Http3Bytes.FrameHeader(0x21, 10));
        await AssertFailsAsync(client, Http3Codes.ExcessiveLoad);
    }

    [Fact]
    public async Task Whole_frames_of_the_control_stream_have_none()
    {
        Http3TestConnection client = await OpenAsync(new HttpServerLimits { Head = Short });
        await client.Control!.WriteAsync((byte[])[.. Http3Bytes.Grease(), .. Http3Bytes.MaxPushId(1), .. Http3Bytes.Grease()]);
        // Sleeps: longer than an incomplete frame has.
        await Task.Delay(2 * Short, TestContext.Current.CancellationToken);
        await AssertServesAsync(client);
    }

    [Fact]
    public async Task A_body_that_does_not_come_is_given_up()
    {
        Http3TestConnection client = await OpenAsync(new HttpServerLimits { ReceiveStall = Short });
        Http3TestStream stream = await client.SendAsync(Http3Bytes.Request("POST", "/none"), isEnd: false);
        Assert.Equal("405", (await stream.ReadHeadAsync())![0].Value);
        await stream.Stopped;
        Assert.Equal(Http3Codes.NoError, stream.StopCode);
        await AssertServesAsync(client);
    }

    /// <summary>As a client that has gone, but whose connection another one keeps open.</summary>
    [Fact]
    public async Task A_client_that_never_acknowledges_the_end_of_a_stream_keeps_no_connection()
    {
        Http3TestConnection client = await OpenAsync(new HttpServerLimits { Head = Short, KeepAlive = Short });

        // Waits for an entry that does not come, and is whole: the client has nothing to send with which it would acknowledge.
        Http3TestStream stream = await client.SendAsync(Http3Bytes.Frame(Http3Bytes.HeadersType, [2, 0, 0x80]));
        await client.InspectAsync(static quic =>
        {
            quic.Spaces[2].Received.AckElicitingThreshold = int.MaxValue;
            quic.Spaces[2].Received.MaximumAckDelay = 3_600 * QuicClock.Second;
            return 0;
        });
        await AssertResetsAsync(stream, Http3Codes.RequestCancelled);
        await AssertFailsAsync(client, Http3Codes.NoError);
    }

    /// <summary>It wants to send no more, as after an early answer; STOP_SENDING would say that it does not want the rest.</summary>
    [Fact]
    [Trait("Rfc", "9114-4.1")]
    public async Task A_client_that_breaks_off_its_request_after_the_answer_gets_all_of_that()
    {
        Http3TestConnection client = await OpenAsync(client: Http3TestClient.Settings with
        {
            Streams = StreamSettings.Default with { StreamWindowBytes = 200 },
        });
        Http3TestStream stream = await client.SendAsync(Http3Bytes.Request("GET", Small), isEnd: false);
        Assert.NotNull(await stream.ReadHeadAsync());
        stream.Abort();
        await AssertServesAsync(client);
        using var content = new MemoryStream();
        while (await stream.ReadDataAsync() is { } piece)
        {
            content.Write(piece);
        }

        Assert.Equal(1000, content.Length);
    }

    [Fact]
    [Trait("Duration", "Full")]
    public async Task A_stream_whose_window_stays_closed_is_reset_and_the_others_go_on()
    {
        Http3TestConnection client = await OpenStallingAsync(connectionWindow: 10_000_000);
        Http3TestStream stream = await client.SendAsync(Http3Bytes.Request("GET", Large));
        await stream.Closed;
        await Assert.ThrowsAsync<Http3TestException>(stream.ReadToEndAsync);
        await AssertServesAsync(client);
    }

    [Fact]
    [Trait("Duration", "Full")]
    public async Task A_connection_whose_window_stays_closed_is_ended()
    {
        Http3TestConnection client = await OpenStallingAsync(connectionWindow: 40_000);
        await client.SendAsync(Http3Bytes.Request("GET", Large));
        await AssertFailsAsync(client, Http3Codes.ExcessiveLoad);
    }

    [Fact]
    [Trait("Duration", "Full")]
    public async Task A_client_that_reads_slowly_and_steadily_gets_all()
    {
        Http3TestConnection client = await OpenStallingAsync(connectionWindow: 40_000);
        Http3TestStream stream = await client.SendAsync(Http3Bytes.Request("GET", Large));
        Assert.NotNull(await stream.ReadHeadAsync());
        int bytes = 0;
        while (await stream.ReadDataAsync(10_000) is { } data)
        {
            bytes += data.Length;
            // Sleeps: the client's windows are what it opens slowly.
            await Task.Delay(100, TestContext.Current.CancellationToken);
        }

        Assert.Equal(LargeBytes, bytes);
    }

    [Fact]
    public async Task A_client_that_is_gone_leaves_nothing_behind()
    {
        Http3TestConnection client = await OpenAsync();
        for (int i = 0; i < 10; i++)
        {
            client = i == 0 ? client : await Endpoint.ConnectAsync();
            await client.SendAsync(Http3Bytes.Request("GET", Large));
            await client.SendAsync(Http3Bytes.Request("GET", Small).AsMemory(0, 9), isEnd: false);
            client.Close();
            await client.Closed;
        }
    }

    private Task<Http3TestConnection> OpenStallingAsync(long connectionWindow) => OpenAsync(
        engine: new EngineOptions { Reactors = 1, Limits = new Limits { WriteStall = TimeSpan.FromSeconds(1) } },
        client: Http3TestClient.Settings with
        {
            KeepAlive = 200 * QuicClock.Millisecond,
            Streams = StreamSettings.Default with
            {
                StreamWindowBytes = 64 * 1024,
                ConnectionWindowBytes = connectionWindow,
            },
        });
}
