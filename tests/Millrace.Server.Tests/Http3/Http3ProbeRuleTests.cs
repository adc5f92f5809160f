using Millrace.Quic.Connections;
using Millrace.Server.Commands;
using Millrace.Server.Http3;
using Millrace.Server.Tests.Http3.Kit;
using Millrace.Tests.Shared;

namespace Millrace.Server.Tests.Http3;

/// <summary>The rules for clients of HTTP/3 (RFC 9114), which the probe is: what it sends, and what it does not accept.</summary>
public class Http3ProbeRuleTests
{
    private static readonly byte[] Ok = Http3Bytes.Headers((":status", "200"), ("server", "a"));

    private static readonly byte[] EarlyHints = Http3Bytes.Headers((":status", "103"), ("link", "</a>"));

    public static TheoryData<string, long, byte[]> ControlStreams => new()
    {
        { "MAX_PUSH_ID", Http3Codes.FrameUnexpected, Http3Bytes.MaxPushId(1) },
        { "DATA", Http3Codes.FrameUnexpected, Http3Bytes.Data(1) },
        { "HEADERS", Http3Codes.FrameUnexpected, Ok },
        { "PUSH_PROMISE", Http3Codes.FrameUnexpected, Http3Bytes.Frame(Http3Bytes.PushPromiseType, 0, 0, 0, 0xD1) },
        { "a second SETTINGS", Http3Codes.FrameUnexpected, Http3Bytes.Settings() },
        { "PING of HTTP/2", Http3Codes.FrameUnexpected, Http3Bytes.Frame(0x06, 0, 0, 0, 0, 0, 0, 0, 0) },
        { "CANCEL_PUSH", Http3Codes.IdError, Http3Bytes.CancelPush(0) },
        { "a GOAWAY with the id of a push", Http3Codes.IdError, Http3Bytes.GoAway(1) },
        { "a GOAWAY that rises", Http3Codes.IdError, [.. Http3Bytes.GoAway(4), .. Http3Bytes.GoAway(8)] },
        { "a GOAWAY that is too long", Http3Codes.FrameError, Http3Bytes.Frame(Http3Bytes.GoAwayType, 0, 0) },
    };

    public static TheoryData<string, long, byte[]> OtherStreams => new()
    {
        { "a push", Http3Codes.IdError, [0x01, 0x00] },
        { "a second control stream", Http3Codes.StreamCreationError, ScriptedServer.Control },
        { "a table that was not allowed", Http3Codes.EncoderStreamError, [0x02, .. QpackFields.Capacity(100)] },
        { "an acknowledgement of nothing", Http3Codes.DecoderStreamError, [0x03, 0x80] },
    };

    public static TheoryData<string, long, byte[]> Responses => new()
    {
        { "DATA before HEADERS", Http3Codes.FrameUnexpected, Http3Bytes.Data(1) },
        { "SETTINGS", Http3Codes.FrameUnexpected, Http3Bytes.Settings() },
        { "GOAWAY", Http3Codes.FrameUnexpected, Http3Bytes.GoAway(0) },
        { "MAX_PUSH_ID", Http3Codes.FrameUnexpected, Http3Bytes.MaxPushId(0) },
        { "CANCEL_PUSH", Http3Codes.FrameUnexpected, Http3Bytes.CancelPush(0) },
        { "PRIORITY of HTTP/2", Http3Codes.FrameUnexpected, Http3Bytes.Frame(0x02, 1, 2, 3, 4, 5) },
        { "PUSH_PROMISE", Http3Codes.IdError, Http3Bytes.Frame(Http3Bytes.PushPromiseType, 0, 0, 0, 0xD1) },
        { "a cut frame", Http3Codes.FrameError, Ok[..^1] },
        { "an entry that there is not", Http3Codes.DecompressionFailed, Http3Bytes.Frame(Http3Bytes.HeadersType, 0, 0, 0xFF, 0xFF, 0x01) },
        { "a head that is too large", Http3Codes.ExcessiveLoad, Http3Bytes.FrameHeader(Http3Bytes.HeadersType, 70_000) },
        { "nothing", Http3Codes.MessageError, [] },
        { "early hints alone", Http3Codes.MessageError, EarlyHints },
        { "content of early hints", Http3Codes.MessageError, [.. EarlyHints, .. Http3Bytes.Data(1), .. Ok] },
        { "no status", Http3Codes.MessageError, Http3Bytes.Headers(("server", "a")) },
        { "two statuses", Http3Codes.MessageError, Http3Bytes.Headers((":status", "200"), (":status", "200")) },
        { "a status of letters", Http3Codes.MessageError, Http3Bytes.Headers((":status", "2xx")) },
        { "a status of four digits", Http3Codes.MessageError, Http3Bytes.Headers((":status", "0200")) },
        { "a status after a field", Http3Codes.MessageError, Http3Bytes.Headers(("server", "a"), (":status", "200")) },
        { "a pseudo-header of requests", Http3Codes.MessageError, Http3Bytes.Headers((":status", "200"), (":path", "/")) },
        { "a pseudo-header that nobody knows", Http3Codes.MessageError, Http3Bytes.Headers((":status", "200"), (":a", "b")) },
        { "a name in upper case", Http3Codes.MessageError, Http3Bytes.Headers((":status", "200"), ("Server", "a")) },
        { "a name that is none", Http3Codes.MessageError, Http3Bytes.Headers((":status", "200"), ("a b", "c")) },
        { "a value that is none", Http3Codes.MessageError, Http3Bytes.Headers((":status", "200"), ("a", "b\r\nc: d")) },
        { "a field of connections", Http3Codes.MessageError, Http3Bytes.Headers((":status", "200"), ("connection", "close")) },
        { "TE", Http3Codes.MessageError, Http3Bytes.Headers((":status", "200"), ("te", "trailers")) },
    };

    [Fact]
    [Trait("Rfc", "9114-4.1")]
    [Trait("Rfc", "9114-4.3.1")]
    [Trait("Rfc", "9114-6.2.1")]
    public async Task The_probe_sends_its_settings_and_one_whole_request()
    {
        using var server = new ScriptedServer { Response = Ok };
        ProbeResult result = await ProbeAsync(server, "https://user:secret@localhost:{0}?a=b#c");
        Assert.True(result.IsHealthy, result.Text);
        CloseReason reason = await server.Closed;
        Assert.Equal((CloseSource.Peer, true, Http3Codes.NoError), (reason.Source, reason.IsApplication, reason.Code));
        Assert.Equal("localhost", server.ServerName);

        // Streams 0 and 2: the request, whose end the server has waited for, and the control stream.
        Assert.Equal([0L, 2L], server.Received.Keys.Order());
        byte[] control = server.Received[2];
        Assert.Equal([0, (byte)Http3Bytes.SettingsType, (byte)(control.Length - 3)], control[..3]);
        byte[] request = server.Received[0];
        Assert.Equal([(byte)Http3Bytes.HeadersType, (byte)(request.Length - 2)], request[..2]);
        Assert.Equal(
            [(":method", "GET"), (":scheme", "https"), (":authority", $"localhost:{server.Port}"), (":path", "/?a=b")],
            new QpackReader(0).Decode(0, request[2..])!);
    }

    [Theory]
    [InlineData("https://localhost/", "localhost")]
    [InlineData("https://user@localhost:8443/", "localhost:8443")]
    [InlineData("https://b\u00FCcher.example/", "xn--bcher-kva.example")]
    [InlineData("https://[::1]:8443/", "[::1]:8443")]
    [InlineData("https://127.0.0.1/", "127.0.0.1")]
    [Trait("Rfc", "9114-4.3.1")]
    public void The_authority_is_a_host_and_a_port(string url, string authority) =>
        Assert.Equal(authority, Http3ProbeRequest.AuthorityOf(new Uri(url)));

    [Fact]
    [Trait("Rfc", "9114-9")]
    public async Task What_the_probe_does_not_know_it_ignores()
    {
        using var server = new ScriptedServer
        {
            Streams =
            [
                [0x00, .. Http3Bytes.Settings((0x21, 7), (0x1F40, 1)), .. Http3Bytes.Grease(), .. Http3Bytes.GoAway(4)],
                [.. Http3Bytes.Number(0x21 + 0x1F), 1, 2, 3],
                [],
            ],
            AfterStream = static stream =>
            {
                if (stream.Id != 3)
                {
                    stream.Finish();
                }
            },
            Response = [.. Http3Bytes.Grease(), .. EarlyHints, .. Http3Bytes.Grease(), .. Ok, .. Http3Bytes.Data(1), .. Http3Bytes.Grease()],
        };
        ProbeResult result = await ProbeAsync(server);
        Assert.True(result.IsHealthy, result.Text);
        Assert.Contains("status 200", result.Text, StringComparison.Ordinal);
    }

    [Theory]
    [MemberData(nameof(ControlStreams))]
    [Trait("Rfc", "9114-7.2")]
    public async Task A_control_stream_with_what_does_not_belong_there_ends_the_connection(string what, long code, byte[] frames)
    {
        using var server = new ScriptedServer { Streams = [[.. ScriptedServer.Control, .. frames]] };
        await AssertRefusedAsync(server, code, what);
    }

    [Theory]
    [MemberData(nameof(OtherStreams))]
    [Trait("Rfc", "9114-6.2")]
    public async Task A_stream_that_the_server_must_not_open_ends_the_connection(string what, long code, byte[] bytes)
    {
        using var server = new ScriptedServer { Streams = [ScriptedServer.Control, bytes] };
        await AssertRefusedAsync(server, code, what);
    }

    [Fact]
    [Trait("Rfc", "9114-6.1")]
    public async Task So_does_a_bidirectional_one()
    {
        using var server = new ScriptedServer { OpensBidirectional = true };
        await AssertRefusedAsync(server, Http3Codes.StreamCreationError, "a bidirectional stream");
    }

    [Theory]
    [InlineData(Http3Bytes.GoAwayType)]
    [InlineData(0x21)]
    [Trait("Rfc", "9114-6.2.1")]
    public async Task A_control_stream_begins_with_SETTINGS(long type)
    {
        using var server = new ScriptedServer { Streams = [[0x00, .. Http3Bytes.Frame(type, 0)]] };
        await AssertRefusedAsync(server, Http3Codes.MissingSettings, "another frame");
    }

    [Theory]
    [InlineData(0x02, 0x77)]
    [InlineData(0x05, 0x77)]
    [InlineData(Http3Bytes.TableCapacitySetting, Http3Bytes.TableCapacitySetting)]
    [Trait("Rfc", "9114-7.2.4.1")]
    public async Task Settings_of_HTTP_2_or_given_twice_end_the_connection(long id, long other)
    {
        using var server = new ScriptedServer { Streams = [[0x00, .. Http3Bytes.Settings((other, 1), (id, 1))]] };
        await AssertRefusedAsync(server, Http3Codes.SettingsError, "a setting");
    }

    [Theory]
    [InlineData(Http3Bytes.ControlStream)]
    [InlineData(Http3Bytes.EncoderStream)]
    [InlineData(Http3Bytes.DecoderStream)]
    [Trait("Rfc", "9114-6.2.1")]
    public async Task A_stream_that_the_connection_needs_must_not_end(long type)
    {
        byte[] bytes = [.. Http3Bytes.Number(type), .. type == Http3Bytes.ControlStream ? Http3Bytes.Settings() : []];
        using var server = new ScriptedServer { Streams = [bytes], AfterStream = static stream => stream.Finish() };
        await AssertRefusedAsync(server, Http3Codes.ClosedCriticalStream, "the end");
    }

    [Fact]
    [Trait("Rfc", "9114-6.2.1")]
    public async Task Nor_may_it_be_reset()
    {
        using var server = new ScriptedServer();
        Task refused = AssertRefusedAsync(server, Http3Codes.ClosedCriticalStream, "RESET_STREAM");
        await server.AbortAcknowledgedAsync(3, ScriptedServer.Control.Length);
        await refused;
    }

    [Fact]
    [Trait("Rfc", "9114-6.2.1")]
    public async Task Nor_may_the_clients_be_refused()
    {
        using var server = new ScriptedServer
        {
            AfterRequest = static connection => connection.Streams.Find(2)!.StopSending(Http3Codes.NoError),
        };
        await AssertRefusedAsync(server, Http3Codes.ClosedCriticalStream, "STOP_SENDING");
    }

    [Theory]
    [MemberData(nameof(Responses))]
    [Trait("Rfc", "9114-4.1.2")]
    public async Task A_response_that_is_not_valid_is_not_accepted(string what, long code, byte[] response)
    {
        using var server = new ScriptedServer { Response = response };
        await AssertRefusedAsync(server, code, what);
    }

    private static async Task AssertRefusedAsync(ScriptedServer server, long code, string what)
    {
        ProbeResult result = await ProbeAsync(server);
        Assert.False(result.IsHealthy, $"{what}: {result.Text}");
        CloseReason reason = await server.Closed;
        Assert.True(
            reason is { Source: CloseSource.Peer, IsApplication: true } && reason.Code == code,
            $"{what}: {code:x} was expected, and the connection ended with {reason}");
    }

    private static Task<ProbeResult> ProbeAsync(ScriptedServer server, string url = "https://localhost:{0}/") => Http3Probe.AskAsync(
        new Uri(string.Format(System.Globalization.CultureInfo.InvariantCulture, url, server.Port)),
        server.Certificate,
        Http3TestConnection.Patience,
        TestContext.Current.CancellationToken);
}
