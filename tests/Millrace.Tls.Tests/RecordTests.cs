using System.Net.Security;
using System.Security.Cryptography;
using System.Text;
using Millrace.Engine;
using Millrace.Engine.Tests.Kit;
using Millrace.Tls.Handshakes;
using Millrace.Tls.Records;
using Millrace.Tls.Tests.Kit;

namespace Millrace.Tls.Tests;

/// <summary>Bytes in odd pieces, and bytes that are no records.</summary>
public class RecordTests : TlsTest
{
    /// <summary>The handshake's bytes too: everything that the client sends goes through a stream that cuts it.</summary>
    [Theory]
    [InlineData(1)]
    [InlineData(2)]
    [InlineData(7)]
    [InlineData(1_000)]
    public async Task Records_may_come_in_pieces_of_any_size(int piece)
    {
        Listener listener = await ServeTlsAsync(Handlers.EchoAsync);
        Client client = await ConnectAsync(listener);
        SslStream stream = Keep(new SslStream(new CuttingStream(client.Socket, piece)));
        await stream.AuthenticateAsClientAsync(Trusting()).Within();
        for (int i = 0; i < 3; i++)
        {
            byte[] sent = Pattern.Make(i, 3_000);
            await stream.WriteAsync(sent).AsTask().Within();
            Pattern.Check(i, await ReceiveAsync(stream, sent.Length));
        }
    }

    [Fact]
    public async Task A_handshake_and_a_request_may_be_cut_anywhere()
    {
        Listener listener = await ServeTlsAsync(Handlers.EchoAsync);
        for (int cut = 1; cut < 500; cut += 7)
        {
            using Client client = await Client.ConnectAsync(listener.EndPoint);
            using var stream = new SslStream(new CuttingStream(client.Socket, cut, pieces: 1));
            await stream.AuthenticateAsClientAsync(Trusting()).Within();
            await stream.WriteAsync(Pattern.Make(cut, 40)).AsTask().Within();
            Pattern.Check(cut, await ReceiveAsync(stream, 40));
        }
    }

    [Fact]
    public async Task Many_records_may_come_at_once()
    {
        Listener listener = await ServeTlsAsync(Handlers.EchoAsync);
        Client client = await ConnectAsync(listener);
        var gathering = new GatheringStream(client.Socket);
        SslStream stream = Keep(new SslStream(gathering));
        await stream.AuthenticateAsClientAsync(Trusting()).Within();
        gathering.IsGathering = true;
        byte[] sent = Pattern.Make(1, 20_000);
        for (int at = 0; at < sent.Length; at += 10)
        {
            await stream.WriteAsync(sent.AsMemory(at, 10)).AsTask().Within();
        }

        gathering.IsGathering = false;
        Task release = gathering.ReleaseAsync();
        Pattern.Check(1, await ReceiveAsync(stream, sent.Length));
        await release.Within();
    }

    [Fact]
    public async Task The_first_records_fit_a_segment_and_later_ones_do_not()
    {
        Listener listener = await ServeTlsAsync(Handlers.EchoAsync);
        Client client = await ConnectAsync(listener);
        var counting = new CuttingStream(client.Socket, int.MaxValue);
        SslStream stream = Keep(new SslStream(counting));
        await stream.AuthenticateAsClientAsync(Trusting()).Within();
        await stream.WriteAsync(new byte[1]).AsTask().Within();
        await ReceiveAsync(stream, 1);
        counting.Received.Clear();
        byte[] sent = Pattern.Make(1, 100_000);
        Task send = stream.WriteAsync(sent).AsTask();
        await ReceiveAsync(stream, sent.Length);
        await send;
        List<int> records = Records(counting.Received);
        Assert.All(records.Take(10), static size => Assert.InRange(size, 1, 1_400));
        Assert.Contains(records, static size => size > 16_000);
    }

    [Theory]
    [InlineData("garbage")]
    [InlineData("half")]
    [InlineData("empty")]
    [InlineData("sslv2")]
    public async Task What_is_no_handshake_ends_with_an_alert_and_costs_nobody_else(string kind)
    {
        Listener listener = await ServeTlsAsync(Handlers.EchoAsync);
        SslStream bystander = await ConnectTlsAsync(listener);
        Client client = await ConnectAsync(listener);
        byte[] sent = kind switch
        {
            "garbage" => [0x16, 0x03, 0x01, 0x00, 0x40, .. RandomNumberGenerator.GetBytes(64)],
            "half" => [0x16, 0x03, 0x01, 0xFF, 0xFF, 0x01],
            "empty" => [0x16, 0x03, 0x01, 0x00, 0x00, 0x16, 0x03, 0x01, 0x00, 0x00],
            _ => [0x80, 0x2E, 0x01, 0x00, 0x02, .. new byte[41]],
        };
        await client.SendAsync(sent);
        client.EndSending();
        byte[] response = await client.ReceiveToEndAsync();
        Assert.True(response.Length == 0 || response[0] == 21, $"Something else than an alert came: {Convert.ToHexString(response)}");
        await Waiting.UntilAsync(() => Terminator.Counters.HandshakesFailed == 1, "the failure was counted");
        await bystander.WriteAsync(new byte[] { 7 }).AsTask().Within();
        Assert.Equal([7], await ReceiveAsync(bystander, 1));
    }

    [Theory]
    [InlineData("GET / HTTP/1.1\r\nHost: a\r\n\r\n")]
    [InlineData("OPTIONS * HTTP/1.1\r\n")]
    [InlineData("g")]
    public async Task Plain_http_gets_a_hint_to_use_https(string request)
    {
        Listener listener = await ServeTlsAsync(WebHandler.ServeAsync);
        Client client = await ConnectAsync(listener);
        await client.SendAsync(request);
        string response = Encoding.ASCII.GetString(await client.ReceiveToEndAsync());
        Assert.StartsWith("HTTP/1.1 400 Bad Request\r\n", response, StringComparison.Ordinal);
        Assert.EndsWith("\r\n\r\nThis port speaks HTTPS: write https:// in front of the address.\n", response, StringComparison.Ordinal);
        Assert.Equal(1, Terminator.Counters.HandshakesFailed);
    }

    [Theory]
    [InlineData(64_000, 4)]
    [InlineData(64_000, 1)]
    public async Task A_client_hello_that_says_it_is_huge_is_not_waited_for(int said, int recordBytes)
    {
        Listener listener = await ServeTlsAsync(Handlers.EchoAsync, TlsOptions() with { HandshakeTimeout = TimeSpan.FromHours(1) });
        Client client = await ConnectAsync(listener);
        byte[] message = [1, (byte)(said >> 16), (byte)(said >> 8), (byte)said];
        for (int at = 0; at < message.Length; at += recordBytes)
        {
            await client.SendAsync((byte[])[0x16, 0x03, 0x01, 0x00, (byte)recordBytes, .. message.AsSpan(at, recordBytes)]);
        }

        Assert.Empty(await client.ReceiveToEndAsync());
        Assert.Equal(1, Terminator.Counters.HandshakesFailed);
    }

    [Fact]
    public void The_gate_sees_through_records_of_one_byte()
    {
        var inspector = new ClientHelloInspector();
        byte[] bytes = [22, 3, 1, 0, 1, 1, 22, 3, 1, 0, 1, 1, 22, 3, 1, 0, 2, 0];
        foreach (byte next in bytes)
        {
            Assert.Equal(ClientHelloResult.Undecided, inspector.Inspect([next]));
        }

        Assert.Equal(ClientHelloResult.TooLong, inspector.Inspect([1]));
        var passing = new ClientHelloInspector();
        Assert.Equal(ClientHelloResult.Undecided, passing.Inspect([22, 3, 1, 2, 0, 1, 0, 1, 252]));
        Assert.Equal(ClientHelloResult.Undecided, passing.Inspect(new byte[508]));
        Assert.Equal(ClientHelloResult.Passed, passing.Inspect([22, 3, 3, 0, 70, 16, 0, 0, 66]));
        var letters = new ClientHelloInspector();
        Assert.Equal(ClientHelloResult.PlainText, letters.Inspect("P"u8));
        var other = new ClientHelloInspector();
        Assert.Equal(ClientHelloResult.Passed, other.Inspect([0]));
    }

    [Theory]
    [InlineData(1, 0x01, true)]
    [InlineData(1, 0x00, false)]
    [InlineData(16, 0x01, false)]
    public void The_second_hello_is_inspected_too(byte type, byte sizeHigh, bool isTooLong)
    {
        ClientHelloResult verdict = isTooLong ? ClientHelloResult.TooLong : ClientHelloResult.Passed;
        byte[] first = [22, 3, 1, 0, 6, 1, 0, 0, 2, 9, 9];
        byte[] compatible = [20, 3, 3, 0, 1, 1];
        byte[] warning = [21, 3, 3, 0, 2, 1, 90];
        byte[] empty = [22, 3, 3, 0, 0];
        byte[] early = [23, 3, 3, 0, 3, 7, 7, 7];
        byte[] second = [22, 3, 3, 0, 200, type, sizeHigh, 0, 190];
        foreach (byte[] between in (byte[][])[[], compatible, warning, empty, early, [.. early, .. empty, .. warning]])
        {
            var inspector = new ClientHelloInspector();
            byte[] all = [.. first, .. between, .. second];
            foreach (byte next in all[..^1])
            {
                Assert.Equal(ClientHelloResult.Undecided, inspector.Inspect([next]));
            }

            Assert.Equal(verdict, inspector.Inspect([all[^1]]));
            var atOnce = new ClientHelloInspector();
            Assert.Equal(verdict, atOnce.Inspect(all));
        }
    }

    [Fact]
    public void Records_are_counted_however_they_are_cut()
    {
        byte[] bytes = [22, 3, 1, 0, 3, 1, 2, 3, 23, 3, 3, 0, 0, 23, 3, 3, 1, 0, .. new byte[256], 21, 3, 3, 0, 2, 9];
        var counter = new RecordCounter();
        Assert.True(counter.IsBetweenRecords);
        Assert.Equal(3, counter.Advance(bytes));
        Assert.False(counter.IsBetweenRecords);
        Assert.Equal(1, counter.Advance([9]));
        Assert.True(counter.IsBetweenRecords);
        Assert.Equal(0, counter.Advance([23, 3, 3, 0, 9]));
        Assert.False(counter.IsBetweenRecords);
        for (int piece = 1; piece < bytes.Length; piece++)
        {
            var cut = new RecordCounter();
            Assert.Equal(3, bytes.Chunk(piece).Sum(part => cut.Advance(part)));
        }
    }

    [Fact]
    public async Task A_record_that_was_tampered_with_ends_the_connection_with_an_alert()
    {
        var outcome = new TaskCompletionSource<ReadOutcome>();
        Listener listener = await ServeTlsAsync(async connection => outcome.TrySetResult(await connection.ReadAsync()));
        Client client = await ConnectAsync(listener);
        var gathering = new GatheringStream(client.Socket);
        SslStream stream = Keep(new SslStream(gathering));
        await stream.AuthenticateAsClientAsync(Trusting()).Within();
        await Waiting.UntilAsync(() => Terminator.Counters.HandshakesDone == 1, "the handshake was done");
        gathering.IsGathering = true;
        await stream.WriteAsync(new byte[100]).AsTask().Within();
        gathering.Gathered[^1] ^= 1;
        await gathering.ReleaseAsync();
        Assert.Equal(ReadOutcome.Reset, await outcome.Task.Within());

        // bad_record_mac: the client's library names it.
        IOException error = await Assert.ThrowsAsync<IOException>(() => ReceiveToEndAsync(stream));
        Assert.NotNull(error.InnerException);
    }

    private static List<int> Records(List<byte> bytes)
    {
        var sizes = new List<int>();
        for (int at = 0; at + 5 <= bytes.Count; at += sizes[^1] + 5)
        {
            sizes.Add((bytes[at + 3] << 8) | bytes[at + 4]);
        }

        return sizes;
    }
}
