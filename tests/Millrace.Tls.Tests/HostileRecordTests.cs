using System.Net.Security;
using System.Net.Sockets;
using System.Security.Authentication;
using Millrace.Engine;
using Millrace.Engine.Tests.Kit;
using Millrace.Tls.Records;
using Millrace.Tls.Tests.Kit;

namespace Millrace.Tls.Tests;

/// <summary>Records after a handshake that no library would send, by TLS 1.2 and 1.3.</summary>
public class HostileRecordTests : TlsTest
{
    private const byte ChangeCipherSpec = 20;
    private const byte Alert = 21;
    private const byte Handshake = 22;
    private const byte Data = 23;
    private const byte Heartbeat = 24;
    private const int SessionFailed = 601;
    private const int FilterFailed = 301;

    private readonly List<byte> _seen = [];
    private readonly TaskCompletionSource<ReadOutcome> _end = new();
    private Client _client = null!;
    private SslStream _stream = null!;
    private string _keyLog = "";

    [Fact]
    public async Task Attempts_to_renegotiate_are_refused_each_and_data_goes_on()
    {
        using HandMadeTls12Records records = await BeginTls12Async();
        byte[] hello = new HandMadeHello().Message;
        for (int i = 0; i < 20; i++)
        {
            await _client.SendAsync(records.Seal(Handshake, hello));
            Assert.Equal(Alert, await ReceiveRecordAsync());
        }

        await _client.SendAsync(records.Seal(Data, 7));
        Assert.Equal(Data, await ReceiveRecordAsync());
        Assert.Equal((1, 0), (Terminator.Counters.HandshakesDone, Log.Count(SessionFailed)));
        await EndAsync();
    }

    [Fact]
    public async Task Attempts_to_renegotiate_without_end_are_too_much()
    {
        using HandMadeTls12Records records = await BeginTls12Async();
        byte[] hello = new HandMadeHello().Message;
        await AssertFailsAsync([.. Enumerable.Range(0, 2 * EmptyRecordLimiter.Most).SelectMany(_ => records.Seal(Handshake, hello))]);
    }

    /// <summary>OpenSSL answers each, though it has come but once.</summary>
    [Fact]
    public async Task Attempts_to_renegotiate_in_one_record_are_counted_each()
    {
        using HandMadeTls12Records records = await BeginTls12Async();
        await AssertFailsAsync(records.Seal(Handshake, [.. Enumerable.Repeat<byte[]>([1, 0, 0, 0], 2 * EmptyRecordLimiter.Most).SelectMany(static hello => hello)]));
    }

    /// <summary>OpenSSL would hold 128 KiB for it, for as long as the connection is idle.</summary>
    [Theory]
    [InlineData(0x01FF00)]
    [InlineData(100)]
    public async Task A_part_of_an_attempt_to_renegotiate_is_not_waited_for(int said)
    {
        using HandMadeTls12Records records = await BeginTls12Async();
        await AssertFailsAsync(records.Seal(Handshake, 1, (byte)(said >> 16), (byte)(said >> 8), (byte)said, 3, 3));
    }

    [Fact]
    public async Task A_part_of_an_update_of_keys_is_not_waited_for()
    {
        using HandMadeRecords records = await BeginTls13Async();
        await AssertFailsAsync(records.Seal(Handshake, HandMadeRecords.KeyUpdate.AsSpan(0, 4)));
    }

    [Fact]
    public async Task Warnings_without_end_are_too_much()
    {
        using HandMadeTls12Records records = await BeginTls12Async();
        await AssertFailsAsync([.. Enumerable.Range(0, 2 * EmptyRecordLimiter.Most).SelectMany(_ => records.Seal(Alert, 1, 90))]);
    }

    [Fact]
    public async Task Warnings_between_data_are_too_much()
    {
        using HandMadeTls12Records records = await BeginTls12Async();
        int most = 4 * EmptyRecordLimiter.Most;
        byte[][] both = [.. Enumerable.Range(0, most).Select(i => i % 2 == 0 ? records.Seal(Alert, 1, 90) : records.Seal(Data, 7))];
        await AssertFailsAsync([.. both.SelectMany(static one => one)]);
    }

    [Theory]
    [InlineData(ChangeCipherSpec)]
    [InlineData(Heartbeat)]
    [InlineData(Handshake)]
    [InlineData(0)]
    [InlineData(255)]
    public async Task Records_of_no_use_end_the_connection_in_either_version(byte type)
    {
        using (HandMadeTls12Records records = await BeginTls12Async())
        {
            await AssertFailsAsync(records.Seal(type, [99, 0, 0, 9, 1, 2, 3, 4, 5, 6, 7, 8, 9]));
        }

        using (HandMadeRecords records = await BeginTls13Async())
        {
            await AssertFailsAsync(records.Seal(type, [99, 0, 0, 9, 1, 2, 3, 4, 5, 6, 7, 8, 9]));
        }
    }

    /// <summary>Heartbleed's: the heartbeat says that it is longer than its record.</summary>
    [Fact]
    public async Task A_heartbeat_is_not_answered()
    {
        using HandMadeTls12Records records = await BeginTls12Async();
        await AssertFailsAsync(records.Seal(Heartbeat, 1, 0x40, 0));
    }

    [Fact]
    public async Task A_record_of_more_than_its_largest_size_ends_the_connection()
    {
        using (HandMadeRecords records = await BeginTls13Async())
        {
            await _client.SendAsync(records.Seal(Data, new byte[RecordSizes.Most]));
            await Waiting.UntilAsync(() => Count() == RecordSizes.Most, "the largest record is taken");
            await AssertFailsAsync(records.Seal(Data, new byte[RecordSizes.Most + 1]));
        }

        using (HandMadeTls12Records records = await BeginTls12Async())
        {
            await AssertFailsAsync(records.Seal(Data, new byte[RecordSizes.Most + 1]));
        }
    }

    [Fact]
    public async Task A_record_that_says_it_is_too_large_is_not_waited_for()
    {
        using HandMadeRecords records = await BeginTls13Async();
        await AssertFailsAsync([Data, 3, 3, 255, 255]);
    }

    [Fact]
    public async Task What_comes_after_a_goodbye_is_nobodys()
    {
        using HandMadeRecords records = await BeginTls13Async();
        byte[] first = [.. records.Seal(Data, 7), .. records.Seal(Alert, 1, 0), .. records.Seal(Data, 8)];
        await _client.SendAsync(first);
        await _client.SendAsync(records.Seal(Data, 9));
        Assert.Equal(ReadOutcome.End, await _end.Task.Within());
        Assert.Equal([7], _seen);
        await EndAsync();
    }

    [Fact]
    public async Task An_update_of_keys_that_is_asked_for_is_answered_and_what_follows_has_the_new_key()
    {
        using HandMadeRecords records = await BeginTls13Async();
        using HandMadeRecords server = HandMadeRecords.OfServer(_keyLog);
        await _client.SendAsync(records.Seal(Data, 7));
        Assert.Equal((Data, "07"), Shown(await ReceiveOpenedAsync(server)));
        for (byte i = 1; i < 4; i++)
        {
            await _client.SendAsync(records.Seal(Handshake, HandMadeRecords.KeyUpdateAsked));
            records.NextKeys();
            Assert.Equal((Handshake, "1800000100"), Shown(await ReceiveOpenedAsync(server)));
            server.NextKeys();
            await _client.SendAsync(records.Seal(Data, i));
            Assert.Equal((Data, $"0{i}"), Shown(await ReceiveOpenedAsync(server)));
        }

        await EndAsync();
    }

    [Theory]
    [InlineData(20)]
    [InlineData(10)]
    public async Task Why_a_connection_fails_is_told_by_an_alert_that_opens(byte alert)
    {
        using HandMadeRecords records = await BeginTls13Async();
        using HandMadeRecords server = HandMadeRecords.OfServer(_keyLog);
        byte[] bad = records.Seal(alert == 20 ? Data : Heartbeat, 1, 2, 3);
        bad[^1] ^= (byte)(alert == 20 ? 1 : 0);
        await _client.SendAsync(bad);
        Assert.Equal((Alert, $"02{alert:X2}"), Shown(await ReceiveOpenedAsync(server)));
        await Waiting.UntilAsync(() => Log.Count(SessionFailed) == 1, "the end is logged");
        Assert.Contains(
            alert == 20 ? "bad record mac" : "bad record type", Assert.Single(Log.Entries, static entry => entry.Id == SessionFailed).Text,
            StringComparison.Ordinal);
        await EndAsync();
    }

    [Fact]
    public async Task The_end_of_a_connection_is_a_goodbye_that_opens()
    {
        using HandMadeRecords records = await BeginTls13Async();
        using HandMadeRecords server = HandMadeRecords.OfServer(_keyLog);
        await _client.SendAsync(records.Seal(Data, 7));
        Assert.Equal((Data, "07"), Shown(await ReceiveOpenedAsync(server)));
        await _client.SendAsync(records.Seal(Alert, 1, 0));
        Assert.Equal((Alert, "0100"), Shown(await ReceiveOpenedAsync(server)));
        await EndAsync();
    }

    private async Task<HandMadeTls12Records> BeginTls12Async()
    {
        (string keyLog, CuttingStream socket) = await BeginAsync(
#pragma warning disable CA5398 // It is this version that is attacked.
            SslProtocols.Tls12);
#pragma warning restore CA5398
        Assert.Equal(TlsCipherSuite.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, _stream.NegotiatedCipherSuite);
        return HandMadeTls12Records.Of(keyLog, socket.Received);
    }

    private async Task<HandMadeRecords> BeginTls13Async()
    {
        (string keyLog, _) = await BeginAsync(SslProtocols.None);
        Assert.Equal(TlsCipherSuite.TLS_AES_128_GCM_SHA256, _stream.NegotiatedCipherSuite);
        _keyLog = keyLog;
        return HandMadeRecords.Of(keyLog);
    }

    private async Task<(string KeyLog, CuttingStream Socket)> BeginAsync(SslProtocols version)
    {
        string keyLog = Pem.PathOf($"keys{version}.log");
        Listener listener = await ServeTlsAsync(NoteAsync, TlsOptions() with { KeyLogFile = keyLog });
        _client = await ConnectAsync(listener);
        var socket = new CuttingStream(_client.Socket, int.MaxValue);
        _stream = Keep(new SslStream(socket));
        await _stream.AuthenticateAsClientAsync(
            Trusting(new SslClientAuthenticationOptions { TargetHost = "localhost", EnabledSslProtocols = version })).Within();
        await Waiting.UntilAsync(() => Terminator.Counters.HandshakesDone == 1, "the handshake is done on both sides");
        return (keyLog, socket);
    }

    /// <summary>Echoes, and keeps what came and how it ended.</summary>
    private async Task NoteAsync(Connection connection)
    {
        ReadOutcome outcome;
        while ((outcome = await connection.ReadAsync()) == ReadOutcome.Data)
        {
            lock (_seen)
            {
                _seen.AddRange(connection.Input);
            }

            connection.Write(connection.Input);
            connection.Consume(connection.Input.Length);
            await connection.FlushAsync();
        }

        _end.TrySetResult(outcome);
    }

    private int Count()
    {
        lock (_seen)
        {
            return _seen.Count;
        }
    }

    /// <summary>The next record that brings no ticket.</summary>
    private async Task<(byte Type, byte[] Content)> ReceiveOpenedAsync(HandMadeRecords server)
    {
        const byte Ticket = 4;
        (byte Type, byte[] Content) record;
        do
        {
            byte[] head = await _client.ReceiveAsync(5);
            record = server.Open([.. head, .. await _client.ReceiveAsync((head[3] << 8) | head[4])]);
        }
        while (record.Type == Handshake && record.Content[0] == Ticket);

        return record;
    }

    private static (byte Type, string Content) Shown((byte Type, byte[] Content) record) => (record.Type, Convert.ToHexString(record.Content));

    /// <summary>Its type; what is in it is encrypted.</summary>
    private async Task<byte> ReceiveRecordAsync()
    {
        byte[] head = await _client.ReceiveAsync(5);
        await _client.ReceiveAsync((head[3] << 8) | head[4]);
        return head[0];
    }

    /// <summary>Asserts that these bytes are the connection's end, without more to wait for, logged as what peers do.</summary>
    private async Task AssertFailsAsync(byte[] bytes)
    {
        int before = Log.Count(SessionFailed);
        try
        {
            await _client.SendAsync(bytes);
            await _client.ReceiveToEndAsync();
        }
        catch (SocketException)
        {
            // A reset, where bytes crossed the end.
        }

        await Waiting.UntilAsync(() => Log.Count(SessionFailed) == before + 1, "the end is logged");
        Assert.Equal(0, Log.Count(FilterFailed));
        await EndAsync();
    }

    /// <summary>The file of secrets is closed with its terminator.</summary>
    private async Task EndAsync()
    {
        await _stream.DisposeAsync();
        _client.Dispose();
        await Group.StopAsync(TimeSpan.FromSeconds(5)).Within();
        Terminator.Dispose();
    }
}
