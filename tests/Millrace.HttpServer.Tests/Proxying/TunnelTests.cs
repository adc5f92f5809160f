using System.Net.Sockets;
using System.Security.Cryptography;
using System.Text;
using Millrace.Http;
using Millrace.HttpServer.Tests.Http2.Kit;
using Millrace.HttpServer.Tests.Kit;
using Millrace.HttpServer.Tests.Upstreams.Kit;
using Millrace.HttpServer.Upstreams;
using Millrace.Tests.Shared;

namespace Millrace.HttpServer.Tests.Proxying;

/// <summary>WebSockets: by Upgrade over HTTP/1.1, and by extended CONNECT over HTTP/2.</summary>
public class TunnelTests : ProxyTest
{
    private const string Upgrade =
        "GET /api/ws HTTP/1.1\r\nHost: a\r\nConnection: keep-alive, Upgrade\r\nUpgrade: WebSocket\r\nSec-WebSocket-Key: k\r\n\r\n";

    private const string Switch =
        "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: x\r\n\r\n";

    /// <summary>More than a client's window takes, and less than a connection to an upstream reads ahead.</summary>
    internal const int TailBytes = 110_000;

    private static readonly string[] ConnectFields = ["sec-websocket-version: 13", "sec-websocket-protocol: chat"];

    [Fact]
    public async Task Bytes_pass_both_ways_after_an_upgrade()
    {
        (Wire client, UpstreamWire upstream, string head) = await BeginAsync($"{Upgrade}early");
        Assert.Contains("\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n", head, StringComparison.Ordinal);
        Assert.Contains("\r\nSec-WebSocket-Key: k\r\n", head, StringComparison.Ordinal);
        await upstream.SendAsync($"{Switch}hello");
        Response response = await client.ReadHeadAsync();
        Assert.Equal(
            (101, "Upgrade", "websocket", "x"),
            (response.Status, response.Field("Connection"), response.Field("Upgrade"), response.Field("Sec-WebSocket-Accept")));
        Assert.Equal("hello", await ReadAsync(client, 5));
        Assert.Equal("early", await upstream.ReadAsync(5));
        for (int i = 0; i < 5; i++)
        {
            await client.SendAsync("ping");
            Assert.Equal("ping", await upstream.ReadAsync(4));
            await upstream.SendAsync("pong");
            Assert.Equal("pong", await ReadAsync(client, 4));
        }
    }

    [Fact]
    public async Task The_clients_end_passes_and_the_other_direction_goes_on()
    {
        (Wire client, UpstreamWire upstream, _) = await BeginAsync(Upgrade);
        await upstream.SendAsync(Switch);
        await client.ReadHeadAsync();
        await client.SendAsync("bye");
        client.FinishSending();
        Assert.Equal("bye", await upstream.ReadToEndAsync());
        await upstream.SendAsync("still here");
        upstream.FinishSending();
        (byte[] bytes, WireEnd end) = await client.ReadToEndAsync();
        Assert.Equal(("still here", WireEnd.Finished), (Encoding.Latin1.GetString(bytes), end));
    }

    [Fact]
    public async Task The_upstreams_end_passes_and_the_other_direction_goes_on()
    {
        (Wire client, UpstreamWire upstream, _) = await BeginAsync(Upgrade);
        await upstream.SendAsync($"{Switch}bye");
        upstream.FinishSending();
        await client.ReadHeadAsync();
        (byte[] bytes, WireEnd end) = await client.ReadToEndAsync();
        Assert.Equal(("bye", WireEnd.Finished), (Encoding.Latin1.GetString(bytes), end));
        await client.SendAsync("still here");
        client.FinishSending();
        Assert.Equal("still here", await upstream.ReadToEndAsync());
    }

    [Fact]
    public async Task A_reset_of_either_end_resets_the_other()
    {
        (Wire client, UpstreamWire upstream, _) = await BeginAsync(Upgrade);
        await upstream.SendAsync(Switch);
        await client.ReadHeadAsync();
        client.Reset();
        await upstream.AssertEndsAsync();

        Wire other = await Site.ConnectAsync();
        await other.SendAsync(Upgrade);
        upstream = await Upstream.AcceptAsync();
        await upstream.ReadHeadAsync();
        await upstream.SendAsync(Switch);
        await other.ReadHeadAsync();
        upstream.Reset();
        Assert.Equal(WireEnd.Reset, (await other.ReadToEndAsync()).End);
    }

    /// <summary>Applications that are done with a socket may reset it behind their last frame.</summary>
    [Fact]
    public async Task Bytes_before_the_upstreams_reset_reach_the_client_and_its_connection_ends_in_order()
    {
        (Wire client, UpstreamWire upstream, _) = await BeginAsync(Upgrade);
        await upstream.SendAsync(Switch);
        await client.ReadHeadAsync();
        await upstream.SendAsync("bye");
        upstream.Reset();
        (byte[] bytes, WireEnd end) = await client.ReadToEndAsync();
        Assert.Equal(("bye", WireEnd.Finished), (Encoding.Latin1.GetString(bytes), end));
    }

    [Fact]
    [Trait("Duration", "Full")]
    public async Task A_tunnel_waits_for_a_slow_reader_in_bounded_memory()
    {
        const int Bytes = 32 * 1024 * 1024;
        (Wire client, UpstreamWire upstream, _) = await BeginAsync(Upgrade);
        await upstream.SendAsync(Switch);
        await client.ReadHeadAsync();
        byte[] piece = SiteFolder.Bytes(1024 * 1024);
        Task down = Task.Run(async () =>
        {
            for (int sent = 0; sent < Bytes; sent += piece.Length)
            {
                await upstream.SendAsync(piece);
            }
        });
        Task up = Task.Run(async () =>
        {
            for (int sent = 0; sent < Bytes; sent += piece.Length)
            {
                await client.SendAsync(piece);
            }
        });
        // Sleeps: both directions fill what can be buffered.
        await Task.Delay(500, TestContext.Current.CancellationToken);
        Assert.False(down.IsCompleted || up.IsCompleted);
        Assert.True(await Site.LentBytesAsync() < 2 * 1024 * 1024);
        string expected = Encoding.Latin1.GetString(piece);
        for (int read = 0; read < Bytes; read += piece.Length)
        {
            Assert.Equal(expected, await ReadAsync(client, piece.Length));
        }

        await down;
        for (int read = 0; read < Bytes;)
        {
            read += await upstream.Socket.ReceiveAsync(piece, System.Net.Sockets.SocketFlags.None, TestContext.Current.CancellationToken);
        }

        await up;
    }

    [Fact]
    public async Task A_refused_upgrade_is_a_response_as_any_other()
    {
        (Wire client, UpstreamWire upstream, _) = await BeginAsync(Upgrade);
        await upstream.SendAsync("HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno");
        Response response = await client.ReadResponseAsync();
        Assert.Equal((403, "no", null), (response.Status, response.Text, response.Field("Connection")));
        await client.SendAsync(Get);
        await upstream.ReadHeadAsync();
    }

    [Fact]
    public async Task A_switch_that_was_not_asked_for_is_a_bad_gateway()
    {
        (Wire client, UpstreamWire upstream, _) = await BeginAsync();
        await upstream.SendAsync(Switch);
        Assert.Equal(502, (await client.ReadResponseAsync()).Status);
        await upstream.AssertEndsAsync();
    }

    [Fact]
    public async Task Extended_connect_is_announced_only_with_proxy_rules()
    {
        await StartProxyAsync();
        Http2Wire with = await Http2Wire.OpenAsync(Site);
        Http2Wire without = await Http2Wire.OpenAsync(await StartAsync());
        Assert.Equal((24, 18), (with.ServerSettings.Payload.Length, without.ServerSettings.Payload.Length));
        Assert.Equal([0, 8, 0, 0, 0, 1], with.ServerSettings.Payload[^6..]);
        await without.SendAsync(Frame.Headers(1, Connect("/api/ws"), FrameFlags.EndHeaders));
        await without.AssertResetsAsync(1, Http2Error.ProtocolError);
        await with.SendAsync(Frame.Headers(1, Block.Of((":method", "CONNECT"), (":authority", "a:80")), FrameFlags.EndHeaders));
        Assert.NotEqual((":status", "200"), (await with.ReadAsync(1)).Fields[0]);
    }

    [Fact]
    public async Task Extended_connect_becomes_an_upgrade_with_a_key_of_its_own()
    {
        (Http2Wire client, UpstreamWire upstream, string head) = await ConnectAsync("early"u8.ToArray());
        Assert.StartsWith("GET /api/ws HTTP/1.1\r\nHost: a\r\n", head, StringComparison.Ordinal);
        Assert.Contains("\r\nsec-websocket-protocol: chat\r\n", head, StringComparison.Ordinal);
        Assert.Contains("\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n", head, StringComparison.Ordinal);
        await upstream.SendAsync($"{SwitchFor(head)}hello");
        await client.TakeAsync(await client.ReadUntilAsync(FrameType.Headers));
        Assert.Equal((":status", "200"), client.Of(1).Fields[0]);
        Assert.DoesNotContain(client.Of(1).Fields, static field => field.Name is "sec-websocket-accept" or "upgrade" or "connection");
        Assert.Contains(("sec-websocket-protocol", "chat"), client.Of(1).Fields);
        Assert.Equal("hello", Encoding.Latin1.GetString((await client.ReadUntilAsync(FrameType.Data)).Payload));
        Assert.Equal("early", await upstream.ReadAsync(5));
        await client.SendAsync(Frame.Data(1, "ping"u8, FrameFlags.None));
        Assert.Equal("ping", await upstream.ReadAsync(4));
        await upstream.SendAsync("pong");
        Assert.Equal("pong", Encoding.Latin1.GetString((await client.ReadUntilAsync(FrameType.Data)).Payload));
        await client.SendAsync(Frame.Data(1, "bye"u8));
        Assert.Equal("bye", await upstream.ReadToEndAsync());
        await upstream.SendAsync("still here");
        upstream.FinishSending();
        Exchange exchange = await client.ReadAsync(1);
        Assert.Equal(("still here", null), (exchange.Text, exchange.Reset));
    }

    [Fact]
    public async Task The_upstreams_end_is_the_streams_and_the_client_may_go_on()
    {
        (Http2Wire client, UpstreamWire upstream, string head) = await ConnectAsync();
        await upstream.SendAsync($"{SwitchFor(head)}bye");
        upstream.FinishSending();
        Exchange exchange = await client.ReadAsync(1);
        Assert.Equal(("bye", null), (exchange.Text, exchange.Reset));
        await client.SendAsync(Frame.Data(1, "still"u8, FrameFlags.None), Frame.Data(1, " here"u8));
        Assert.Equal("still here", await upstream.ReadToEndAsync());
    }

    [Theory]
    [InlineData("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: wrong\r\n\r\n")]
    [InlineData("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n")]
    [InlineData(Ok)]
    public async Task A_handshake_that_proves_nothing_is_a_bad_gateway(string answer)
    {
        (Http2Wire client, UpstreamWire upstream, _) = await ConnectAsync();
        await upstream.SendAsync(answer);
        Assert.Equal((":status", "502"), (await client.ReadAsync(1)).Fields[0]);
        await upstream.AssertEndsAsync();
    }

    /// <summary>Nothing takes any more what the client sends: a client that has gone without a word must not keep the stream.</summary>
    [Fact]
    public async Task A_stream_whose_upstream_has_gone_behind_its_last_bytes_ends_in_both_directions()
    {
        (Http2Wire client, UpstreamWire upstream) = await OpenTunnelAsync();
        await upstream.SendAsync("bye");
        upstream.Reset();
        Exchange exchange = await client.ReadAsync(1);
        Assert.Equal(("bye", null), (exchange.Text, exchange.Reset));
        Assert.Equal(Http2Error.NoError, (await client.ReadUntilAsync(FrameType.RstStream)).Error);
    }

    [Fact]
    public async Task A_refusal_of_the_upstream_passes()
    {
        (Http2Wire client, UpstreamWire upstream, _) = await ConnectAsync();
        await upstream.SendAsync("HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno");
        Exchange exchange = await client.ReadAsync(1);
        Assert.Equal(((":status", "403"), "no"), (exchange.Fields[0], exchange.Text));
    }

    /// <summary>The upstream would take what follows, the request of another client, for the body.</summary>
    [Fact]
    public async Task A_length_that_extended_connect_claims_does_not_reach_the_upstream()
    {
        await StartProxyAsync();
        Http2Wire client = await Http2Wire.OpenAsync(Site);
        byte[] connect = [.. Connect("/api/ws"), .. Block.Of(("content-length", "99"))];
        await client.SendAsync(Frame.Headers(1, connect, FrameFlags.EndHeaders));
        UpstreamWire upstream = await Upstream.AcceptAsync();
        Assert.DoesNotContain("Content-Length", await upstream.ReadHeadAsync(), StringComparison.OrdinalIgnoreCase);
        await upstream.SendAsync("HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno");
        Assert.Equal((":status", "403"), (await client.ReadAsync(1)).Fields[0]);
    }

    [Theory]
    [InlineData("/file.txt", "websocket", "501")]
    [InlineData("/none", "websocket", "404")]
    [InlineData("/api/", "other", "501")]
    public async Task Tunnels_to_nowhere_are_refused(string path, string protocol, string status)
    {
        Folder.Add("/file.txt", SiteFolder.Bytes(9));
        await StartProxyAsync();
        Http2Wire client = await Http2Wire.OpenAsync(Site);
        await client.SendAsync(Frame.Headers(1, Connect(path, protocol), FrameFlags.EndHeaders));
        Assert.Equal((":status", status), (await client.ReadAsync(1)).Fields[0]);
    }

    [Fact]
    public async Task A_reset_of_either_end_of_a_stream_ends_the_other()
    {
        (Http2Wire client, UpstreamWire upstream) = await OpenTunnelAsync();
        await client.SendAsync(Frame.Reset(1));
        await upstream.AssertEndsAsync();

        await client.SendAsync(Frame.Headers(3, Connect("/api/ws"), FrameFlags.EndHeaders));
        upstream = await Upstream.AcceptAsync();
        await upstream.SendAsync(SwitchFor(await upstream.ReadHeadAsync()));
        await client.TakeAsync(await client.ReadUntilAsync(FrameType.Headers));
        upstream.Reset();
        Assert.Equal(Http2Error.Cancel, (await client.ReadAsync(3)).Reset);
    }

    [Fact]
    public async Task Bytes_before_the_upstreams_reset_reach_the_client_and_its_stream_ends_in_order()
    {
        (Http2Wire client, UpstreamWire upstream) = await OpenTunnelAsync();
        await upstream.SendAsync("bye");
        upstream.Reset();
        Exchange exchange = await client.ReadAsync(1);
        Assert.Equal(("bye", true), (exchange.Text, exchange.IsWhole));
    }

    /// <summary>More than the sockets on the way take: the rest waits in the server when both ends have ended their directions.</summary>
    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public async Task What_a_client_sends_before_its_end_reaches_an_upstream_that_reads_late(bool isClientFirst)
    {
        (Http2Wire client, UpstreamWire upstream) = await OpenTunnelAsync();
        long sent = await SendAllThatIsWelcomeAsync(client);
        if (isClientFirst)
        {
            await client.SendAsync(Frame.Data(1, default));
            await client.SettleAsync();
        }

        upstream.FinishSending();
        Assert.Null((await client.ReadAsync(1)).Reset);
        if (!isClientFirst)
        {
            await client.SendAsync(Frame.Data(1, default));
        }

        await client.SettleAsync();
        Assert.Equal(sent, (await upstream.ReadToEndAsync()).Length);
    }

    /// <summary>As an application that closes its socket behind its last frame, and does not read the answer to that.</summary>
    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public async Task The_tail_reaches_a_client_that_reads_late_although_the_upstream_takes_nothing_more(bool isReset)
    {
        (Http2Wire client, UpstreamWire upstream) = await OpenTunnelAsync(opensWindows: false);
        await EndAsync(upstream, isReset);
        for (int i = 0; i < 20; i++)
        {
            await client.SendAsync(Frame.Data(1, "late"u8, FrameFlags.None));
            await client.SettleAsync();

            // Sleeps: the kernel's reset of the connection to the upstream is seen by nobody here.
            await Task.Delay(5, TestContext.Current.CancellationToken);
        }

        await client.SendAsync(Frame.WindowUpdate(1, TailBytes), Frame.WindowUpdate(0, TailBytes));
        Exchange exchange = await client.ReadAsync(1);
        Assert.Equal((TailBytes, true), (exchange.Text.Length, exchange.IsWhole));
    }

    [Fact]
    public async Task The_tail_reaches_a_client_that_ended_its_direction_through_TLS_and_reads_late()
    {
        await StartFilteredProxyAsync(new UpstreamOptions { TunnelEndDelay = TimeSpan.FromMilliseconds(20) });
        Http2Wire client = await Http2Wire.OpenAsync(Site, opensWindows: false);
        await client.SendAsync(Frame.Headers(1, Connect("/api/ws"), FrameFlags.EndHeaders));
        UpstreamWire upstream = await Upstream.AcceptAsync();
        await upstream.SendAsync(SwitchFor(await upstream.ReadHeadAsync()));
        await client.TakeAsync(await client.ReadUntilAsync(FrameType.Headers));
        await upstream.SendAsync(new byte[TailBytes]);
        await client.SettleAsync();
        await client.SendAsync(Frame.Data(1, "bye"u8));
        Assert.Equal("bye", await upstream.ReadAsync(3));

        // Sleeps: until the tunnel's end, which a client that does not read cannot see.
        await Task.Delay(200, TestContext.Current.CancellationToken);
        await client.SendAsync(Frame.WindowUpdate(1, TailBytes), Frame.WindowUpdate(0, TailBytes));
        Exchange exchange = await client.ReadAsync(1);
        Assert.Equal((TailBytes, true), (exchange.Text.Length, exchange.IsWhole));
        await upstream.AssertEndsAsync();
    }

    /// <summary>There is always more to read from the upstream than the client's window takes.</summary>
    [Fact]
    public async Task A_tunnel_through_TLS_whose_client_has_ended_its_direction_ends_while_the_upstream_sends_on()
    {
        const long Bytes = 100_000_000;
        await StartFilteredProxyAsync(new UpstreamOptions { TunnelEndDelay = TimeSpan.FromMilliseconds(20) });
        Http2Wire client = await Http2Wire.OpenAsync(Site);
        await client.SendAsync(Frame.Headers(1, Connect("/api/ws"), FrameFlags.EndHeaders));
        UpstreamWire upstream = await Upstream.AcceptAsync();
        await upstream.SendAsync(SwitchFor(await upstream.ReadHeadAsync()));
        await client.TakeAsync(await client.ReadUntilAsync(FrameType.Headers));
        Task sending = Task.Run(async () =>
        {
            byte[] piece = new byte[64 * 1024];
            while (true)
            {
                await upstream.SendAsync(piece);
            }
        });
        await client.SendAsync(Frame.Data(1, "bye"u8));
        for (long received = 0; !client.Of(1).IsOver;)
        {
            Frame frame = await client.ReadFrameAsync();
            received += frame.Payload.Length;
            Assert.InRange(received, 0, Bytes);
            await client.TakeAsync(frame);
        }

        Assert.True(client.Of(1).IsWhole);
        await Assert.ThrowsAsync<SocketException>(() => sending);
    }

    /// <summary>The upstream sends its last bytes and ends; what fits no window waits in the server.</summary>
    internal static async Task EndAsync(UpstreamWire upstream, bool isReset)
    {
        await upstream.SendAsync(new byte[TailBytes]);
        if (isReset)
        {
            // Sleeps: what its kernel has not sent would be lost by the reset.
            await Task.Delay(100, TestContext.Current.CancellationToken);
            upstream.Reset();
        }
        else
        {
            upstream.Socket.Dispose();
        }
    }

    private static byte[] Connect(string path, string protocol = "websocket") => [
        .. Block.Of((":method", "CONNECT"), (":protocol", protocol), (":scheme", "http"), (":authority", "a"), (":path", path)),
        .. ConnectFields.SelectMany(static field => Block.Of((field.Split(": ")[0], field.Split(": ")[1]))),
    ];

    private static string SwitchFor(string head)
    {
        string key = head.Split("\r\n").Single(static line => line.StartsWith("Sec-WebSocket-Key: ", StringComparison.Ordinal))[19..];
#pragma warning disable CA5350 // The protocol demands it.
        string accept = Convert.ToBase64String(SHA1.HashData(Encoding.ASCII.GetBytes($"{key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11")));
#pragma warning restore CA5350
        return "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Protocol: chat\r\n"
            + $"Sec-WebSocket-Accept: {accept}\r\n\r\n";
    }

    private static async Task<string> ReadAsync(Wire client, int count) => Encoding.Latin1.GetString(await client.ReadBytesAsync(count));

    /// <summary>Sends data until the stream's window stays closed, as nobody reads.</summary>
    private static async Task<long> SendAllThatIsWelcomeAsync(Http2Wire client)
    {
        byte[] frame = Frame.Data(1, new byte[16_000], FrameFlags.None);
        byte[] mark = [.. "welcome?"u8];
        long sent = 0;
        for (long window = 65_535; window >= 16_000;)
        {
            await client.SendAsync(frame, Frame.Ping(mark));
            window -= 16_000;
            sent += 16_000;
            Frame next;
            while ((next = await client.ReadFrameAsync()).Type != FrameType.Ping)
            {
                window += next is { Type: FrameType.WindowUpdate, StreamId: 1 } ? next.Number : 0;
            }
        }

        return sent;
    }

    /// <summary>A tunnel by extended CONNECT, which the upstream has accepted and the client knows of.</summary>
    private async Task<(Http2Wire Client, UpstreamWire Upstream)> OpenTunnelAsync(bool opensWindows = true)
    {
        (Http2Wire client, UpstreamWire upstream, string head) = await ConnectAsync(opensWindows: opensWindows);
        await upstream.SendAsync(SwitchFor(head));
        await client.TakeAsync(await client.ReadUntilAsync(FrameType.Headers));
        return (client, upstream);
    }

    private async Task<(Http2Wire Client, UpstreamWire Upstream, string Head)> ConnectAsync(
        byte[]? early = null, bool opensWindows = true)
    {
        await StartProxyAsync();
        Http2Wire client = await Http2Wire.OpenAsync(Site, opensWindows);
        await client.SendAsync(Frame.Headers(1, Connect("/api/ws"), FrameFlags.EndHeaders));
        if (early is not null)
        {
            await client.SendAsync(Frame.Data(1, early, FrameFlags.None));
        }

        UpstreamWire upstream = await Upstream.AcceptAsync();
        return (client, upstream, await upstream.ReadHeadAsync());
    }
}
